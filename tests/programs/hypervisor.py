"""A hypervisor of namespaces, set up with the commands of the page on 169.254.169.254.

Only what the page assumes is done here: VMs with interfaces and addresses, a bridge or
taps, and a machine outside. Everything else is read from the page.
"""

import json
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.end_to_end.program import FinishedCommand, Program, serving
from tests.programs import frames
from tests.programs.installed import run_program
from tests.programs.network import NetworkNamespace, connect, some_namespaces
from tests.programs.page import copied

BRIDGE, TAPS = "VMs on a bridge", "VMs on routed taps"
HERE, OUTSIDE = "hypervisor", "outside"  # besides the VMs
UPLINK = "uplink"
LOOK = copied("Verify the setup", "sh look")
UNCONNECTED, TIMED_OUT = 7, 28  # exit codes of curl
HASTY = "hasty"  # folder of a curl configuration with a short timeout


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkCard:
    """The MAC and the address of a machine."""

    mac: str
    address: str


#: As on the page; `web-2` is added later.
CARDS: Mapping[str, NetworkCard] = {
    "web-0": NetworkCard(mac="52:54:00:00:00:10", address="10.0.0.10"),
    "web-1": NetworkCard(mac="52:54:00:00:00:11", address="10.0.0.11"),
    "web-2": NetworkCard(mac="52:54:00:00:00:12", address="10.0.0.12"),
    OUTSIDE: NetworkCard(mac="52:54:00:00:00:99", address="10.0.0.99"),
}
OWN_ADDRESS = "10.0.0.1"  # of the hypervisor

#: Machines that use the hypervisor as gateway; all others have the route of the page.
_GUESTS = {BRIDGE: {"web-1"}, TAPS: {"web-1", "web-2", OUTSIDE}}

#: Commands that must work, or the tests are skipped.
_NEEDS = (
    "ip link add try type bridge; ip link delete try",
    "nft add table bridge try; nft delete table bridge try",
    "nft add table netdev try; nft delete table netdev try",
)
_SERVICE = "Configure the fleet and the service"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypervisor:
    """A hypervisor that serves its VMs."""

    way: str  # BRIDGE or TAPS
    machines: Mapping[str, NetworkNamespace]  # including the hypervisor itself
    program: Program

    def do(self, what: str) -> None:
        """Run the commands of the page for the hypervisor."""
        text = copied(self.way, f"sh hypervisor {what}")
        _sh(self.machines[HERE], self.program.folder, text)

    def name_of(self, vm: str) -> str:
        """Return the name that `vm` gets with the check of the page."""
        done = self.on(vm, "sh", "-ec", LOOK)
        assert done.code == 0, done
        return done.out

    def receives_nothing(self, machine: str, url: str | None = None) -> bool:
        """Return whether a request from `machine` times out, by default the page's
        check.
        """
        words = ("sh", "-ec", LOOK) if url is None else ("curl", "-s", url)
        return self.on(machine, *words, CURL_HOME=HASTY).code == TIMED_OUT

    def is_refused(self, machine: str, url: str) -> bool:
        """Return whether a connection from `machine` to `url` is refused."""
        done = self.on(machine, "curl", "-s", "-v", url)
        return done.code == UNCONNECTED and "Connection refused" in done.err

    def on(self, machine: str, *words: str, **environment: str) -> FinishedCommand:
        """Run a program on a machine or on the hypervisor."""
        within = self.machines[machine].within
        folder = self.program.folder
        return run_program(folder, *words, within=within, **environment)

    def send(self, machine: str, *given: bytes) -> None:
        """Send raw frames from `machine`."""
        sent = self.on(
            machine, sys.executable, frames.__file__, *(frame.hex() for frame in given)
        )
        assert sent.code == 0, sent

    def device_to(self, machine: str) -> str:
        """Return the device through which the hypervisor reaches `machine`."""
        return "br0" if self.way == BRIDGE else port_of(machine)

    def mac_for(self, machine: str) -> str:
        """Return the MAC of the hypervisor, as seen from `machine`."""
        show = ("ip", "-j", "link", "show", self.device_to(machine))
        (link,) = json.loads(self.on(HERE, *show).out)
        return str(link["address"])

    def forget(self) -> None:
        """Flush the neighbor tables of the hypervisor and all VMs."""
        for place in self.machines.values():
            place.do("ip", "neighbor", "flush", "all")

    @contextmanager
    def without_rules(self) -> Iterator[None]:
        """Remove the rules of the page until the block ends."""
        self.do("undo")
        self.forget()
        try:
            yield
        finally:
            self.do("rules")
            self.forget()

    @contextmanager
    def disguised(self, machine: str, card: NetworkCard) -> Iterator[None]:
        """Give `machine` another MAC and address until the block ends."""
        place, folder = self.machines[machine], self.program.folder
        _configure(self.way, place, folder, card)
        try:
            yield
        finally:
            _configure(self.way, place, folder, CARDS[machine])
            self.forget()


@contextmanager
def a_hypervisor(folder: Path, way: str) -> Iterator[Hypervisor]:
    """Serve VMs connected in this `way`, with the rules of the page."""
    _copy_files(folder, way)
    with some_namespaces(HERE, *CARDS) as places:
        machines = {place.name: place for place in places}
        _skip_unless_possible(machines[HERE], folder)
        _connect_machines(way, machines)
        _sh(machines[HERE], folder, copied(way, "sh hypervisor address"))
        for name, card in CARDS.items():
            _configure(way, machines[name], folder, card)
        serve = shlex.split(copied(_SERVICE, "sh serve"))
        assert serve[:2] == ["forewarn", "serve"]
        within = machines[HERE].within
        with serving(
            folder, *serve[2:], fleet=None, metadata=(), within=within
        ) as program:
            running = Hypervisor(way=way, machines=machines, program=program)
            running.do("rules")
            yield running


def _skip_unless_possible(place: NetworkNamespace, folder: Path) -> None:
    for need in _NEEDS:
        done = run_program(folder, "sh", "-ec", need, within=place.within)
        if done.code != 0:
            pytest.skip(f"this kernel does not support it: {need}: {done.err}")


def _copy_files(folder: Path, way: str) -> None:
    rules = {BRIDGE: "bridge.nft", TAPS: "taps.nft"}[way]
    (folder / "fleet.toml").write_text(copied(_SERVICE, "toml fleet.toml"))
    (folder / rules).write_text(copied(way, f"nft {rules}"))
    (folder / ".curlrc").write_text("connect-timeout = 3\n")
    (folder / HASTY).mkdir()
    (folder / HASTY / ".curlrc").write_text("connect-timeout = 0.15\n")


def port_of(machine: str) -> str:
    """Return the hypervisor's end of the link to `machine`."""
    return UPLINK if machine == OUTSIDE else f"vm-{machine}"


def _connect_machines(way: str, machines: Mapping[str, NetworkNamespace]) -> None:
    here = machines[HERE]
    here.do("ip", "address", "add", f"{OWN_ADDRESS}/32", "dev", "lo")
    for name in CARDS:
        connect(here, port_of(name), machines[name])
    if way == BRIDGE:
        here.do("ip", "link", "add", "br0", "type", "bridge")
        here.do("ip", "link", "set", "br0", "up")
        for name in CARDS:
            here.do("ip", "link", "set", port_of(name), "master", "br0")
    else:
        here.do("ip", "route", "add", f"{CARDS[OUTSIDE].address}/32", "dev", UPLINK)
    set_kernel(here, "ipv4/ip_forward", 1)
    # No SYN-ACK of one test may arrive in a later one, and only the rules of the
    # bridge may apply.
    set_kernel(here, "ipv4/tcp_synack_retries", 0)
    set_kernel(here, "bridge/bridge-nf-call-*", 0)
    for place in machines.values():  # ARP claims take effect immediately
        set_kernel(place, "ipv4/neigh/*/locktime", 0)


def set_kernel(place: NetworkNamespace, files: str, value: int) -> None:
    """Write `value` to those `files` of the kernel settings that exist."""
    write = f"if [ -e $file ]; then echo {value} >$file; fi"
    place.do("sh", "-ec", f"for file in /proc/sys/net/{files}; do {write}; done")


def _configure(
    way: str, machine: NetworkNamespace, folder: Path, card: NetworkCard
) -> None:
    """Give `machine` a MAC, an address, and the route of the page or a gateway."""
    length = 24 if way == BRIDGE else 32
    machine.do("ip", "link", "set", "eth0", "down")
    machine.do("ip", "address", "flush", "dev", "eth0")
    machine.do("ip", "link", "set", "eth0", "address", card.mac, "up")
    machine.do("ip", "address", "add", f"{card.address}/{length}", "dev", "eth0")
    if machine.name in _GUESTS[way]:
        machine.do("ip", "route", "add", f"{OWN_ADDRESS}/32", "dev", "eth0")
        machine.do("ip", "route", "add", "default", "via", OWN_ADDRESS)
    else:
        _sh(machine, folder, copied(way, "sh vm"))


def _sh(place: NetworkNamespace, folder: Path, text: str) -> None:
    done = run_program(folder, "sh", "-ec", text, within=place.within)
    assert done.code == 0, done
