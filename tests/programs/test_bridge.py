"""The bridge of the page on 169.254.169.254, and what one can do to others there.

What a rule stops is first seen to be stopped, then seen to happen without the rules.
"""

import json
from dataclasses import replace

import pytest
from tests.end_to_end.program import until
from tests.programs.frames import claim, opening, probe, sign_of_life
from tests.programs.hypervisor import CARDS, HERE, OUTSIDE, Hypervisor
from tests.programs.installed import needs
from tests.programs.network import ENDPOINT, HAS_IPV6
from tests.programs.watch import arrived

pytestmark = needs("curl", "nft", "bridge")

VICTIM, THIEF, STRANGER = CARDS["web-0"], CARDS["web-1"], CARDS[OUTSIDE]

# --- who pretends to be another ----------------------------------------------


@pytest.mark.parametrize("thief", ["web-1", OUTSIDE])
@pytest.mark.parametrize("mac", ["own", "stolen"])
def test_only_the_rules_keep_a_machine_from_being_answered_as_another(
    bridge: Hypervisor, thief: str, mac: str
) -> None:
    card = VICTIM if mac == "stolen" else replace(VICTIM, mac=CARDS[thief].mac)
    with bridge.disguised(thief, card):
        assert bridge.hears_nothing(thief)
        assert bridge.name_of("web-0") == "web-0"
        with bridge.without_rules():
            assert bridge.name_of(thief) == "web-0"


# --- who takes answers away, or gives false ones -----------------------------

#: Who claims what, and who is not answered any more if it is believed.
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
def test_only_the_rules_keep_a_false_claim_from_being_believed(
    bridge: Hypervisor, what: str
) -> None:
    sender, frame, loser = CLAIMS[what]
    assert bridge.name_of(loser) == loser  # now it knows the hypervisor, and is known
    bridge.send(sender, frame)
    assert bridge.name_of(loser) == loser
    with bridge.without_rules():
        assert bridge.name_of(loser) == loser
        bridge.send(sender, frame)
        assert bridge.hears_nothing(loser)


@pytest.mark.parametrize("sender", ["web-1", OUTSIDE])
def test_only_the_rules_keep_false_answers_from_a_vm(
    bridge: Hypervisor, sender: str
) -> None:
    macs = (CARDS[sender].mac, VICTIM.mac)
    answer = opening(macs, (ENDPOINT, VICTIM.address))

    def through() -> int:
        bridge.send(sender, answer)
        assert bridge.name_of("web-1") == "web-1"  # it came before this
        return arrived(bridge, "answers", "web-0")

    arrived(bridge, "answers", "web-0")  # true ones
    assert through() == 0
    with bridge.without_rules():
        assert through() == 1


def test_only_the_rules_keep_a_vm_from_moving_another_s_mac_to_its_port(
    bridge: Hypervisor,
) -> None:
    assert bridge.name_of("web-0") == "web-0"
    bridge.send("web-1", sign_of_life(VICTIM.mac))
    assert port_of_mac(bridge, VICTIM.mac) == "vm-web-0"
    with bridge.without_rules():
        bridge.send("web-1", sign_of_life(VICTIM.mac))
        until(lambda: port_of_mac(bridge, VICTIM.mac) == "vm-web-1")


def port_of_mac(bridge: Hypervisor, mac: str) -> str:
    """Where the bridge sends what is for `mac`."""
    known = json.loads(bridge.on(HERE, "bridge", "-j", "fdb", "show", "br", "br0").out)
    (port,) = (
        each["ifname"]
        for each in known
        if each["mac"] == mac and each.get("master") == "br0"
    )
    return str(port)


# --- the wire behind the bridge ----------------------------------------------


def test_only_the_rules_keep_requests_and_answers_on_the_hypervisor(
    bridge: Hypervisor,
) -> None:
    astray = opening((VICTIM.mac, STRANGER.mac), (VICTIM.address, ENDPOINT))
    stolen = claim(STRANGER.mac, VICTIM.address)  # from outside it is believed
    whats = ("requests", "questions", "presence", "answers")

    def leak() -> list[int]:
        bridge.forget()
        bridge.send("web-0", astray)
        assert bridge.name_of("web-0") == "web-0"
        bridge.hears_nothing(OUTSIDE)  # but it asks for the endpoint
        bridge.send(OUTSIDE, stolen)
        assert bridge.hears_nothing("web-0")
        return [arrived(bridge, what, OUTSIDE) for what in whats]

    for what in whats:
        arrived(bridge, what, OUTSIDE)  # what others have left
    assert leak() == [0, 0, 0, 0]
    with bridge.without_rules():
        assert 0 not in leak()


def test_another_hypervisor_on_the_same_wire_may_have_the_address_too(
    bridge: Hypervisor,
) -> None:
    other = bridge.machines[OUTSIDE]
    other.do("ip", "address", "add", f"{ENDPOINT}/32", "dev", "eth0")
    try:
        for _ in range(3):  # who is first to say that it is here?
            bridge.forget()
            assert bridge.name_of("web-0") == "web-0"
    finally:
        other.do("ip", "address", "del", f"{ENDPOINT}/32", "dev", "eth0")


# --- what goes on as before --------------------------------------------------


def test_a_vm_may_still_ask_whether_an_address_is_free(bridge: Hypervisor) -> None:
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
