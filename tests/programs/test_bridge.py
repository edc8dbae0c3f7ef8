"""The bridge of the page on 169.254.169.254: spoofing and its prevention.

Each attack is first shown to fail, then to succeed without the rules.
"""

import json
from dataclasses import replace

import pytest
from tests.end_to_end.program import until
from tests.programs.frame_counters import arrived
from tests.programs.frames import claim, learning_frame, opening, probe
from tests.programs.hypervisor import CARDS, HERE, OUTSIDE, Hypervisor
from tests.programs.installed import needs
from tests.programs.network import ENDPOINT, HAS_IPV6

pytestmark = [pytest.mark.full, needs("curl", "nft", "bridge")]

VICTIM, THIEF, STRANGER = CARDS["web-0"], CARDS["web-1"], CARDS[OUTSIDE]

# --- impersonation -----------------------------------------------------------


@pytest.mark.parametrize("thief", ["web-1", OUTSIDE])
@pytest.mark.parametrize("mac", ["own", "stolen"])
def test_only_the_rules_prevent_a_machine_from_impersonating_another(
    bridge: Hypervisor, thief: str, mac: str
) -> None:
    card = VICTIM if mac == "stolen" else replace(VICTIM, mac=CARDS[thief].mac)
    with bridge.disguised(thief, card):
        assert bridge.receives_nothing(thief)
        assert bridge.name_of("web-0") == "web-0"
        with bridge.without_rules():
            assert bridge.name_of(thief) == "web-0"


# --- ARP spoofing and forged responses ---------------------------------------

#: The sender, its forged frame, and the machine that loses its connection.
CLAIMS = {
    "another's address": ("web-1", claim(THIEF.mac, VICTIM.address), "web-0"),
    "the same in a VLAN tag": (
        "web-1",
        claim(THIEF.mac, VICTIM.address, tags=(0,)),
        "web-0",
    ),
    "to be at another's MAC": (
        "web-1",
        claim(VICTIM.mac, THIEF.address, by=THIEF.mac),
        "web-1",
    ),
    "to be the endpoint": ("web-1", claim(THIEF.mac, ENDPOINT), "web-0"),
    "the same from outside": (
        OUTSIDE,
        claim(STRANGER.mac, ENDPOINT, to=VICTIM.address),
        "web-0",
    ),
    "the same in a VLAN tag, from outside": (
        OUTSIDE,
        claim(STRANGER.mac, ENDPOINT, to=VICTIM.address, tags=(0,)),
        "web-0",
    ),
}


@pytest.mark.parametrize("what", CLAIMS)
def test_only_the_rules_prevent_arp_spoofing(bridge: Hypervisor, what: str) -> None:
    sender, frame, loser = CLAIMS[what]
    assert bridge.name_of(loser) == loser  # fills the neighbor tables on both sides
    bridge.send(sender, frame)
    assert bridge.name_of(loser) == loser
    with bridge.without_rules():
        assert bridge.name_of(loser) == loser
        bridge.send(sender, frame)
        assert bridge.receives_nothing(loser)


@pytest.mark.parametrize("sender", ["web-1", OUTSIDE])
def test_only_the_rules_keep_forged_responses_from_a_vm(
    bridge: Hypervisor, sender: str
) -> None:
    macs = (CARDS[sender].mac, VICTIM.mac)
    response = opening(macs, (ENDPOINT, VICTIM.address))

    def through() -> int:
        bridge.send(sender, response)
        assert bridge.name_of("web-1") == "web-1"  # sent after the forged frame
        return arrived(bridge, "answers", "web-0")

    arrived(bridge, "answers", "web-0")  # discards the genuine ones
    assert through() == 0
    with bridge.without_rules():
        assert through() == 1


def test_only_the_rules_prevent_moving_another_mac_to_a_port(
    bridge: Hypervisor,
) -> None:
    assert bridge.name_of("web-0") == "web-0"
    bridge.send("web-1", learning_frame(VICTIM.mac))
    assert port_of_mac(bridge, VICTIM.mac) == "vm-web-0"
    with bridge.without_rules():
        bridge.send("web-1", learning_frame(VICTIM.mac))
        until(lambda: port_of_mac(bridge, VICTIM.mac) == "vm-web-1")


def port_of_mac(bridge: Hypervisor, mac: str) -> str:
    """Return the port to which the bridge forwards frames for `mac`."""
    entries = json.loads(
        bridge.on(HERE, "bridge", "-j", "fdb", "show", "br", "br0").out
    )
    (port,) = (
        entry["ifname"]
        for entry in entries
        if entry["mac"] == mac and entry.get("master") == "br0"
    )
    return str(port)


# --- the network beyond the bridge -------------------------------------------


def test_only_the_rules_keep_requests_and_responses_on_the_hypervisor(
    bridge: Hypervisor,
) -> None:
    astray = opening((VICTIM.mac, STRANGER.mac), (VICTIM.address, ENDPOINT))
    stolen = claim(STRANGER.mac, VICTIM.address)  # ARP claims from outside are accepted
    whats = ("requests", "questions", "presence", "answers")

    def leak() -> list[int]:
        bridge.forget()
        bridge.send("web-0", astray)
        assert bridge.name_of("web-0") == "web-0"
        bridge.receives_nothing(
            OUTSIDE
        )  # it still sends an ARP request for the endpoint
        bridge.send(OUTSIDE, stolen)
        assert bridge.receives_nothing("web-0")
        return [arrived(bridge, what, OUTSIDE) for what in whats]

    for what in whats:
        arrived(bridge, what, OUTSIDE)  # discards those of earlier tests
    assert leak() == [0, 0, 0, 0]
    with bridge.without_rules():
        assert 0 not in leak()


def test_another_hypervisor_on_the_same_wire_may_use_the_same_address(
    bridge: Hypervisor,
) -> None:
    other = bridge.machines[OUTSIDE]
    other.do("ip", "address", "add", f"{ENDPOINT}/32", "dev", "eth0")
    try:
        for _ in range(3):  # either could respond first
            bridge.forget()
            assert bridge.name_of("web-0") == "web-0"
    finally:
        other.do("ip", "address", "del", f"{ENDPOINT}/32", "dev", "eth0")


# --- unaffected traffic ------------------------------------------------------


def test_a_vm_can_still_probe_whether_an_address_is_free(bridge: Hypervisor) -> None:
    arrived(bridge, "probes", OUTSIDE)
    bridge.send("web-1", probe(THIEF.mac, THIEF.address))
    until(lambda: arrived(bridge, "probes", OUTSIDE) == 1)


def test_vms_still_reach_each_other(bridge: Hypervisor) -> None:
    assert bridge.is_refused("web-1", f"http://{VICTIM.address}")


@pytest.mark.skipif(not HAS_IPV6, reason="this machine has no IPv6")
def test_ipv6_passes(bridge: Hypervisor) -> None:
    for vm, address in (("web-0", "fd00::10"), ("web-1", "fd00::11")):
        words = ("ip", "address", "add", f"{address}/64", "dev", "eth0", "nodad")
        bridge.machines[vm].do(*words)
    assert bridge.is_refused("web-1", "http://[fd00::10]")
