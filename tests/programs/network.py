"""A small network of namespaces: one for the service and one for each machine.

They are anonymous. A process keeps each alive and ends with this process, so nothing is
left behind; this machine's own network is never touched.
"""

import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.patience import PATIENCE

#: The address of the service; the one in Azure's documentation.
ENDPOINT = "169.254.169.254"
ENDPOINT_6 = "fd00:77::254"
HAS_IPV6 = Path("/proc/net/if_inet6").exists()

_TOOLS = ("unshare", "nsenter", "ip", "hostname")
_DEADLINE = PATIENCE


@dataclass(frozen=True, slots=True, kw_only=True)
class NetworkNamespace:
    """A network namespace with its own host name."""

    name: str
    holder: int  # the process that keeps it alive

    @property
    def within(self) -> tuple[str, ...]:
        """Return the words that make a command run in this namespace."""
        spaces = f"/proc/{self.holder}/ns"
        return ("nsenter", f"--net={spaces}/net", f"--uts={spaces}/uts")

    def do(self, *words: str) -> None:
        """Run a command here, which must succeed."""
        _do(*self.within, *words)


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """The service's namespace, and one for each machine, linked to it."""

    service: NetworkNamespace
    machines: Mapping[str, NetworkNamespace]

    def cut(self, machine: str) -> None:
        """Take the machine's link down."""
        self.machines[machine].do("ip", "link", "set", "eth0", "down")


def namespace_problem() -> str | None:
    """Return why namespaces cannot be created here, or None if they can."""
    missing = [name for name in _TOOLS if shutil.which(name) is None]
    if missing:
        return f"namespaces need {', '.join(missing)}"
    tried = subprocess.run(
        ["unshare", "--net", "--uts", "true"], capture_output=True, check=False
    )
    return None if tried.returncode == 0 else f"needs root: {tried.stderr.decode()}"


@contextmanager
def a_network(machines: Mapping[str, Sequence[str]]) -> Iterator[Network]:
    """Connect `machines`, each with its addresses, to a namespace for the service."""
    with some_namespaces("service", *machines) as (service, *places):
        service.do("ip", "address", "add", f"{ENDPOINT}/32", "dev", "lo")
        by_name = {place.name: place for place in places}
        for number, (name, addresses) in enumerate(machines.items()):
            _join(service, f"wire{number}", by_name[name], addresses)
        yield Network(service=service, machines=by_name)


@contextmanager
def some_namespaces(*names: str) -> Iterator[Sequence[NetworkNamespace]]:
    """Create a namespace for each of `names`, not yet connected."""
    reason = namespace_problem()
    if reason is not None:
        pytest.skip(reason)
    with ExitStack() as cleanup:
        yield [cleanup.enter_context(_a_namespace(name)) for name in names]


def connect(service: NetworkNamespace, wire: str, machine: NetworkNamespace) -> None:
    """Create a link `wire` from the service to the interface `eth0` of `machine`."""
    peer = ("peer", "name", "eth0", "netns", str(machine.holder))
    service.do("ip", "link", "add", wire, "type", "veth", *peer)
    service.do("ip", "link", "set", wire, "up")
    machine.do("ip", "link", "set", "eth0", "up")


@contextmanager
def _a_namespace(name: str) -> Iterator[NetworkNamespace]:
    """Keep new namespaces alive with a process that ends when its input is closed."""
    holder = subprocess.Popen(
        ["unshare", "--net", "--uts", "sh", "-c", "echo; exec cat"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    with holder:  # closes its input and waits
        assert holder.stdout is not None
        holder.stdout.readline()
        place = NetworkNamespace(name=name, holder=holder.pid)
        place.do("hostname", name)
        place.do("ip", "link", "set", "lo", "up")
        yield place


def _join(
    service: NetworkNamespace,
    wire: str,
    machine: NetworkNamespace,
    addresses: Sequence[str],
) -> None:
    """Connect `machine` so that it reaches the service and nothing else."""
    connect(service, wire, machine)
    machine.do("ip", "route", "add", f"{ENDPOINT}/32", "dev", "eth0")
    if HAS_IPV6:  # neighbor discovery works only for addresses of the same link
        service.do("ip", "address", "add", f"{ENDPOINT_6}/128", "dev", wire, "nodad")
        machine.do("ip", "route", "add", f"{ENDPOINT_6}/128", "dev", "eth0")
    for address in addresses:
        if ":" not in address:
            machine.do("ip", "address", "add", f"{address}/32", "dev", "eth0")
            service.do("ip", "route", "add", f"{address}/32", "dev", wire)
        elif HAS_IPV6:
            machine.do("ip", "address", "add", f"{address}/128", "dev", "eth0", "nodad")
            service.do("ip", "route", "add", f"{address}/128", "dev", wire)


def _do(*words: str) -> None:
    done = subprocess.run(words, capture_output=True, timeout=_DEADLINE, check=False)
    assert done.returncode == 0, f"{' '.join(words)}: {done.stderr.decode()}"
