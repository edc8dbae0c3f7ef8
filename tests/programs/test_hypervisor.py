"""The page on 169.254.169.254, tried: each VM is itself, and none is another.

What a rule stops is first seen to be stopped, then seen to happen without the rules.
"""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from tests.end_to_end.program import until
from tests.programs.frames import claim, opening, probe, seeking, sign_of_life
from tests.programs.hypervisor import (
    BRIDGE,
    CARDS,
    HERE,
    OUTSIDE,
    OWN_ADDRESS,
    TAPS,
    UPLINK,
    Hypervisor,
    a_hypervisor,
    set_kernel,
)
from tests.programs.installed import needs
from tests.programs.network import ENDPOINT, HAS_IPV6
from tests.programs.page import labels
from tests.programs.watch import arrived, watch

pytestmark = needs("curl", "nft", "bridge")

LINK_LOCAL = "169.254.7.7"
STEPS = ("address", "rules", "undo", "add", "remove")
VICTIM, THIEF, STRANGER = CARDS["web-0"], CARDS["web-1"], CARDS[OUTSIDE]


@pytest.fixture(scope="module")
def bridge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hypervisor]:
    with a_hypervisor(tmp_path_factory.mktemp("bridge"), BRIDGE) as made:
        watch(made)
        yield made


@pytest.fixture(scope="module")
def taps(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hypervisor]:
    with a_hypervisor(tmp_path_factory.mktemp("taps"), TAPS) as made:
        watch(made)
        yield made


@pytest.fixture(params=["bridge", "taps"])
def hypervisor(request: pytest.FixtureRequest) -> Hypervisor:
    """Stand for both ways of the page."""
    made = request.getfixturevalue(request.param)
    assert isinstance(made, Hypervisor)
    return made


def test_every_command_of_the_page_is_tried() -> None:
    steps = {f"sh hypervisor {step}" for step in STEPS}
    files = {"toml fleet.toml", "nft bridge.nft", "nft taps.nft"}
    assert labels() == {"sh serve", "sh vm", "sh look", *steps, *files, "text untried"}


# --- who asks ----------------------------------------------------------------


@pytest.mark.parametrize("vm", ["web-0", "web-1"])
def test_a_vm_is_answered_as_itself(hypervisor: Hypervisor, vm: str) -> None:
    assert hypervisor.name_of(vm) == vm


def test_a_vm_is_answered_from_when_it_is_listed_until_it_is_not(
    hypervisor: Hypervisor,
) -> None:
    assert hypervisor.hears_nothing("web-2")
    hypervisor.do("add")
    hypervisor.forget()  # else it would seek the endpoint again in a second only
    assert hypervisor.name_of("web-2") == "web-2"
    hypervisor.do("remove")
    assert hypervisor.hears_nothing("web-2")


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


@pytest.mark.parametrize("sender", ["web-1", OUTSIDE])
def test_only_the_rules_keep_packets_out_that_claim_to_come_from_another(
    hypervisor: Hypervisor, sender: str
) -> None:
    macs = (CARDS[sender].mac, hypervisor.mac_for(sender))
    forged = [
        opening(macs, (VICTIM.address, ENDPOINT), tags=tags)
        for tags in ((), (0,), (0, 0))  # the hypervisor does not mind such tags
    ]

    def through() -> int:
        hypervisor.send(sender, *forged)
        assert hypervisor.name_of("web-1") == "web-1"  # they came before this
        return arrived(hypervisor, "openings")

    assert through() == 0
    with hypervisor.without_rules():
        assert through() == len(forged)


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


# --- what VMs do not reach ---------------------------------------------------


@pytest.mark.parametrize("machine", ["web-1", OUTSIDE])
def test_only_the_rules_keep_machines_from_other_ports(
    hypervisor: Hypervisor, machine: str
) -> None:
    ports = (f"{ENDPOINT}:8255", f"{OWN_ADDRESS}:8255", f"{ENDPOINT}:22")
    for port in ports:
        assert hypervisor.hears_nothing(machine, f"http://{port}"), port
    with hypervisor.without_rules():  # it is the hypervisor itself that refuses
        for port in ports:
            assert hypervisor.is_refused(machine, f"http://{port}"), port


def test_the_control_plane_is_out_of_reach_also_where_loopback_is_routed(
    hypervisor: Hypervisor,
) -> None:
    control = f"{hypervisor.program.service.control}/healthz"
    assert control == "http://127.0.0.1:8255/healthz"
    with loopback_routed(hypervisor, "web-1"):
        assert hypervisor.hears_nothing("web-1", control)
        assert hypervisor.hears_nothing("web-1", "http://127.0.0.1:22")
        with hypervisor.without_rules():
            assert hypervisor.on("web-1", "curl", "-s", control).code == 0


@contextmanager
def loopback_routed(hypervisor: Hypervisor, vm: str) -> Iterator[None]:
    """Let `vm` send what is for 127.0.0.1 to a hypervisor that takes it."""
    here, there = hypervisor.machines[HERE], hypervisor.machines[vm]
    set_kernel(here, "ipv4/conf/*/route_localnet", 1)
    set_kernel(there, "ipv4/conf/*/route_localnet", 1)
    there.do("ip", "address", "del", "127.0.0.1/8", "dev", "lo")
    route = ("127.0.0.1/32", "via", ENDPOINT, "dev", "eth0", "onlink")
    there.do("ip", "route", "add", *route, "src", CARDS[vm].address)
    try:
        yield
    finally:
        there.do("ip", "route", "del", *route)
        there.do("ip", "address", "add", "127.0.0.1/8", "dev", "lo")
        set_kernel(here, "ipv4/conf/*/route_localnet", 0)


def test_only_the_rules_keep_link_local_packets_from_being_forwarded(
    taps: Hypervisor,
) -> None:
    outside = taps.machines[OUTSIDE]
    outside.do("ip", "address", "add", f"{LINK_LOCAL}/32", "dev", "eth0")
    outside.do(
        "ip", "route", "add", "10.0.0.11/32", "via", OWN_ADDRESS, "src", LINK_LOCAL
    )
    taps.machines[HERE].do("ip", "route", "add", f"{LINK_LOCAL}/32", "dev", UPLINK)
    to, back = ("web-1", f"http://{LINK_LOCAL}"), (OUTSIDE, "http://10.0.0.11")
    assert taps.hears_nothing(*to)
    assert taps.hears_nothing(*back)
    with taps.without_rules():
        assert taps.is_refused(*to)
        assert taps.is_refused(*back)


# --- what goes on as before --------------------------------------------------


def test_a_vm_may_still_ask_for_an_address(hypervisor: Hypervisor) -> None:
    arrived(hypervisor, "seeking")
    hypervisor.send("web-1", seeking(THIEF.mac))
    until(lambda: arrived(hypervisor, "seeking") == 1)


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
