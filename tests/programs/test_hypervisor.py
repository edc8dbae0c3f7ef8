"""The page on 169.254.169.254: each VM is identified, and none can impersonate another.

Each attack is first shown to fail, then to succeed without the rules.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.end_to_end.program import until
from tests.programs.frame_counters import LINK_LOCAL, arrived
from tests.programs.frames import dhcp_discover, opening
from tests.programs.hypervisor import (
    CARDS,
    HERE,
    OUTSIDE,
    OWN_ADDRESS,
    Hypervisor,
    set_kernel,
)
from tests.programs.installed import needs
from tests.programs.network import ENDPOINT
from tests.programs.page import labels

pytestmark = needs("curl", "nft", "bridge")

STEPS = ("address", "rules", "undo", "add", "remove")
VICTIM, THIEF, STRANGER = CARDS["web-0"], CARDS["web-1"], CARDS[OUTSIDE]


def test_every_command_of_the_page_is_tested() -> None:
    steps = {f"sh hypervisor {step}" for step in STEPS}
    files = {"toml fleet.toml", "nft bridge.nft", "nft taps.nft"}
    assert labels() == {"sh serve", "sh vm", "sh look", *steps, *files, "text untried"}


# --- identification ----------------------------------------------------------


@pytest.mark.parametrize("vm", ["web-0", "web-1"])
def test_a_vm_is_identified(hypervisor: Hypervisor, vm: str) -> None:
    assert hypervisor.name_of(vm) == vm


@pytest.mark.full
def test_a_vm_is_served_only_while_it_is_listed(
    hypervisor: Hypervisor,
) -> None:
    assert hypervisor.receives_nothing("web-2")
    hypervisor.do("add")
    hypervisor.forget()  # otherwise it would retry the endpoint only after a second
    assert hypervisor.name_of("web-2") == "web-2"
    hypervisor.do("remove")
    assert hypervisor.receives_nothing("web-2")


# --- impersonation -----------------------------------------------------------


@pytest.mark.parametrize("sender", ["web-1", OUTSIDE])
def test_only_the_rules_block_packets_with_a_forged_source(
    hypervisor: Hypervisor, sender: str
) -> None:
    macs = (CARDS[sender].mac, hypervisor.mac_for(sender))
    forged = [
        opening(macs, (VICTIM.address, ENDPOINT), tags=tags)
        for tags in ((), (0,), (0, 0))  # the hypervisor accepts such VLAN tags
    ]

    def through() -> int:
        hypervisor.send(sender, *forged)
        assert hypervisor.name_of("web-1") == "web-1"  # sent after the forged packets
        return arrived(hypervisor, "openings")

    assert through() == 0
    with hypervisor.without_rules():
        assert through() == len(forged)


# --- blocked ports -----------------------------------------------------------


@pytest.mark.full
@pytest.mark.parametrize("machine", ["web-1", OUTSIDE])
def test_only_the_rules_block_other_ports(hypervisor: Hypervisor, machine: str) -> None:
    ports = (f"{ENDPOINT}:8255", f"{OWN_ADDRESS}:8255", f"{ENDPOINT}:22")
    for port in ports:
        assert hypervisor.receives_nothing(machine, f"http://{port}"), port
    with hypervisor.without_rules():  # the hypervisor itself refuses these
        for port in ports:
            assert hypervisor.is_refused(machine, f"http://{port}"), port


def test_the_control_plane_is_unreachable_even_if_loopback_is_routed(
    hypervisor: Hypervisor,
) -> None:
    control = f"{hypervisor.program.service.control}/healthz"
    assert control == "http://127.0.0.1:8255/healthz"
    with loopback_routed(hypervisor, "web-1"):
        assert hypervisor.receives_nothing("web-1", control)
        assert hypervisor.receives_nothing("web-1", "http://127.0.0.1:22")
        with hypervisor.without_rules():
            assert hypervisor.on("web-1", "curl", "-s", control).code == 0


@contextmanager
def loopback_routed(hypervisor: Hypervisor, vm: str) -> Iterator[None]:
    """Route 127.0.0.1 from `vm` to a hypervisor that accepts it."""
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


@pytest.mark.full
def test_only_the_rules_prevent_forwarding_of_link_local_packets(
    hypervisor: Hypervisor,
) -> None:
    here, out = hypervisor.machines[HERE], ("dev", hypervisor.device_to(OUTSIDE))
    here.do("ip", "route", "add", f"{LINK_LOCAL}/32", *out)
    here.do("ip", "neighbor", "add", LINK_LOCAL, "lladdr", STRANGER.mac, *out)
    to = (THIEF.mac, hypervisor.mac_for("web-1")), (THIEF.address, LINK_LOCAL)
    back = (STRANGER.mac, hypervisor.mac_for(OUTSIDE)), (LINK_LOCAL, THIEF.address)

    def through() -> tuple[int, int]:
        hypervisor.send("web-1", opening(*to))
        hypervisor.send(OUTSIDE, opening(*back))
        assert hypervisor.name_of("web-1") == "web-1"  # sent after the forged packets
        there = arrived(hypervisor, "to-link-local", OUTSIDE)
        return there, arrived(hypervisor, "from-link-local", "web-1")

    assert through() == (0, 0)
    with hypervisor.without_rules():
        assert through() == (1, 1)


# --- unaffected traffic ------------------------------------------------------


@pytest.mark.full
def test_the_operator_reaches_the_control_plane_on_the_hypervisor(
    hypervisor: Hypervisor,
) -> None:
    control = f"{hypervisor.program.service.control}/healthz"
    assert hypervisor.on(HERE, "curl", "-s", control).code == 0


@pytest.mark.full
def test_a_vm_can_still_use_dhcp(hypervisor: Hypervisor) -> None:
    arrived(hypervisor, "seeking")
    hypervisor.send("web-1", dhcp_discover(THIEF.mac))
    until(lambda: arrived(hypervisor, "seeking") == 1)
