"""A hypervisor of namespaces, set up by the commands of the page on 169.254.169.254.

Only what the page takes for granted is done here: VMs with cards and addresses, a
bridge or taps, and a machine outside. All else is read from the page.
"""

import json
import shlex
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.end_to_end.program import Ended, Program, serving
from tests.programs import frames
from tests.programs.installed import run_program
from tests.programs.network import Place, lay_wire, some_places
from tests.programs.page import copied

BRIDGE, TAPS = "VMs on a bridge", "VMs on taps of their own"
HERE, OUTSIDE = "hypervisor", "outside"  # beside the VMs
UPLINK = "uplink"
LOOK = copied("See that it works", "sh look")
UNCONNECTED, TIMED_OUT = 7, 28  # as curl says it
HASTY = "hasty"  # where curl finds settings that let it wait for a moment only


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """Who a machine is on the wire."""

    mac: str
    address: str


#: As the page lists them; `web-2` comes later.
CARDS: Mapping[str, Card] = {
    "web-0": Card(mac="52:54:00:00:00:10", address="10.0.0.10"),
    "web-1": Card(mac="52:54:00:00:00:11", address="10.0.0.11"),
    "web-2": Card(mac="52:54:00:00:00:12", address="10.0.0.12"),
    OUTSIDE: Card(mac="52:54:00:00:00:99", address="10.0.0.99"),
}
OWN_ADDRESS = "10.0.0.1"  # of the hypervisor

#: Whose default gateway is the hypervisor; all others have the route of the page.
_GUESTS = {BRIDGE: {"web-1"}, TAPS: {"web-1", "web-2", OUTSIDE}}

#: Without these there is nothing to try.
_NEEDS = (
    "ip link add try type bridge; ip link delete try",
    "nft add table bridge try; nft delete table bridge try",
    "nft add table netdev try; nft delete table netdev try",
)
_SERVICE = "The fleet and the service"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hypervisor:
    """A hypervisor that serves its VMs."""

    way: str  # BRIDGE or TAPS
    machines: Mapping[str, Place]  # and the hypervisor itself
    program: Program

    def do(self, what: str) -> None:
        """Run what the page says for the hypervisor."""
        text = copied(self.way, f"sh hypervisor {what}")
        _sh(self.machines[HERE], self.program.folder, text)

    def name_of(self, vm: str) -> str:
        """What `vm` is told that its name is, if it looks as the page says."""
        done = self.on(vm, "sh", "-ec", LOOK)
        assert done.code == 0, done
        return done.out

    def hears_nothing(self, machine: str, url: str | None = None) -> bool:
        """Whether `machine` waits in vain when it looks, or asks another `url`."""
        words = ("sh", "-ec", LOOK) if url is None else ("curl", "-s", url)
        return self.on(machine, *words, CURL_HOME=HASTY).code == TIMED_OUT

    def is_refused(self, machine: str, url: str) -> bool:
        """Whether somebody is there who refuses to be asked for `url`."""
        done = self.on(machine, "curl", "-s", "-v", url)
        return done.code == UNCONNECTED and "Connection refused" in done.err

    def on(self, machine: str, *words: str, **environment: str) -> Ended:
        """Run a program on a machine, or on the hypervisor."""
        within = self.machines[machine].within
        folder = self.program.folder
        return run_program(folder, *words, within=within, **environment)

    def send(self, machine: str, *given: bytes) -> None:
        """Let `machine` send frames as they are."""
        sent = self.on(
            machine, sys.executable, frames.__file__, *(each.hex() for each in given)
        )
        assert sent.code == 0, sent

    def device_to(self, machine: str) -> str:
        """By which device the hypervisor itself reaches `machine`."""
        return "br0" if self.way == BRIDGE else port_of(machine)

    def mac_for(self, machine: str) -> str:
        """Where `machine` finds the hypervisor."""
        show = ("ip", "-j", "link", "show", self.device_to(machine))
        (link,) = json.loads(self.on(HERE, *show).out)
        return str(link["address"])

    def forget(self) -> None:
        """Let hypervisor and VMs forget who they thought is where."""
        for place in self.machines.values():
            place.do("ip", "neighbor", "flush", "all")

    @contextmanager
    def without_rules(self) -> Iterator[None]:
        """Do without the page's rules for a while."""
        self.do("undo")
        self.forget()
        try:
            yield
        finally:
            self.do("rules")
            self.forget()

    @contextmanager
    def disguised(self, machine: str, card: Card) -> Iterator[None]:
        """Let `machine` take itself for another for a while."""
        place, folder = self.machines[machine], self.program.folder
        _dress(self.way, place, folder, card)
        try:
            yield
        finally:
            _dress(self.way, place, folder, CARDS[machine])
            self.forget()


@contextmanager
def a_hypervisor(folder: Path, way: str) -> Iterator[Hypervisor]:
    """Serve VMs that are joined in this `way`, with the page's rules."""
    _copy_files(folder, way)
    with some_places(HERE, *CARDS) as places:
        machines = {each.name: each for each in places}
        _skip_unless_possible(machines[HERE], folder)
        _lay_cables(way, machines)
        _sh(machines[HERE], folder, copied(way, "sh hypervisor address"))
        for name, card in CARDS.items():
            _dress(way, machines[name], folder, card)
        serve = shlex.split(copied(_SERVICE, "sh serve"))
        assert serve[:2] == ["forewarn", "serve"]
        within = machines[HERE].within
        with serving(
            folder, *serve[2:], fleet=None, metadata=(), within=within
        ) as program:
            made = Hypervisor(way=way, machines=machines, program=program)
            made.do("rules")
            yield made


def _skip_unless_possible(place: Place, folder: Path) -> None:
    for need in _NEEDS:
        done = run_program(folder, "sh", "-ec", need, within=place.within)
        if done.code != 0:
            pytest.skip(f"this kernel does not do it: {need}: {done.err}")


def _copy_files(folder: Path, way: str) -> None:
    rules = {BRIDGE: "bridge.nft", TAPS: "taps.nft"}[way]
    (folder / "fleet.toml").write_text(copied(_SERVICE, "toml fleet.toml"))
    (folder / rules).write_text(copied(way, f"nft {rules}"))
    (folder / ".curlrc").write_text("connect-timeout = 3\n")
    (folder / HASTY).mkdir()
    (folder / HASTY / ".curlrc").write_text("connect-timeout = 0.15\n")


def port_of(machine: str) -> str:
    """The hypervisor's end of the wire to `machine`."""
    return UPLINK if machine == OUTSIDE else f"vm-{machine}"


def _lay_cables(way: str, machines: Mapping[str, Place]) -> None:
    here = machines[HERE]
    here.do("ip", "address", "add", f"{OWN_ADDRESS}/32", "dev", "lo")
    for name in CARDS:
        lay_wire(here, port_of(name), machines[name])
    if way == BRIDGE:
        here.do("ip", "link", "add", "br0", "type", "bridge")
        here.do("ip", "link", "set", "br0", "up")
        for name in CARDS:
            here.do("ip", "link", "set", port_of(name), "master", "br0")
    else:
        here.do("ip", "route", "add", f"{CARDS[OUTSIDE].address}/32", "dev", UPLINK)
    set_kernel(here, "ipv4/ip_forward", 1)
    set_kernel(here, "ipv4/tcp_synack_retries", 0)  # nothing is left of a test later
    set_kernel(here, "bridge/bridge-nf-call-*", 0)  # the bridge's rules stand alone
    for place in machines.values():  # whatever is claimed is believed at once
        set_kernel(place, "ipv4/neigh/*/locktime", 0)


def set_kernel(place: Place, files: str, value: int) -> None:
    """Write `value` into those `files` of the kernel's settings that are there."""
    write = f"if [ -e $file ]; then echo {value} >$file; fi"
    place.do("sh", "-ec", f"for file in /proc/sys/net/{files}; do {write}; done")


def _dress(way: str, machine: Place, folder: Path, card: Card) -> None:
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


def _sh(place: Place, folder: Path, text: str) -> None:
    done = run_program(folder, "sh", "-ec", text, within=place.within)
    assert done.code == 0, done
