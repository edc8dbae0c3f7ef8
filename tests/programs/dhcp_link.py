"""A host and a machine on one wire, in network namespaces; the host can serve DHCP."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.end_to_end.program import FinishedCommand, environment_of, finish
from tests.programs.network import NetworkNamespace, connect, some_namespaces

HOST, VM = "10.77.0.1", "10.77.0.5"


@dataclass(frozen=True, slots=True, kw_only=True)
class DhcpLink:
    """A host and a machine connected by one wire."""

    host: NetworkNamespace
    machine: NetworkNamespace
    folder: Path

    def python(self, program: str, *words: str, **environment: str) -> FinishedCommand:
        """Run `program` on the machine."""
        command = [*self.machine.within, sys.executable, "-c", program, *words]
        return finish(command, self.folder, environment_of(self.folder, **environment))

    @contextmanager
    def running(self, *command: str, ready: str) -> Iterator[None]:
        """Run a command on the host, once it has printed `ready`."""
        with subprocess.Popen(
            [*self.host.within, *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            assert process.stdout is not None
            try:
                ready_line = next(
                    (line for line in process.stdout if ready in line), None
                )
                assert ready_line is not None, "it has ended"
                yield
            finally:
                process.kill()

    def dnsmasq(self, *options: str) -> AbstractContextManager[None]:
        """Run a DHCP server on the host; `options` include the range of addresses."""
        return self.running(
            "dnsmasq",
            "--no-daemon",
            "--port=0",
            "--no-ping",
            f"--dhcp-leasefile={self.folder}/leases",
            "--pid-file=",
            "--user=root",
            *options,
            ready="lease time",
        )


@contextmanager
def a_dhcp_link(folder: Path, wire: str = "wire") -> Iterator[DhcpLink]:
    """Connect a host with an address to a machine without one."""
    with some_namespaces("host", "machine") as (host, machine):
        connect(host, wire, machine)
        host.do("ip", "address", "add", f"{HOST}/24", "dev", wire)
        yield DhcpLink(host=host, machine=machine, folder=folder)
