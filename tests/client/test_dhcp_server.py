"""Discovery through a real DHCP server, in separate network namespaces."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.end_to_end.program import FinishedCommand, environment_of, finish, serving
from tests.programs.installed import needs
from tests.programs.network import NetworkNamespace, connect, some_namespaces

pytestmark = [pytest.mark.slow, needs("dnsmasq", "ip", "unshare", "nsenter")]

HOST, VM = "10.77.0.1", "10.77.0.5"
TELLS = "--dhcp-option-force=245,0a:4d:00:01"  # HOST

FLEET = f"""\
[[vms]]
name = "lone"
addresses = ["{VM}"]
"""

ASK = """
import sys
from forewarn.client.discovery import query_dhcp
from forewarn.errors import ForewarnError
try:
    print(query_dhcp(None, float(sys.argv[1])))
except ForewarnError as error:
    sys.exit(str(error))
"""

DISCOVER = """
from forewarn import Client
with Client.discover(dhcp_timeout=10) as client:
    print(client.endpoint, client.instance().name)
"""

#: Replies to a request with garbage first, then with an offer for 10.77.0.1.
RUDE = """
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
    server.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_BINDTODEVICE, b"wire")
    server.bind(("", 67))
    print("ready", flush=True)
    asked = server.recv(2000)
    head = b"\\x02" + asked[1:240]
    offer = head + b"\\x35\\x01\\x02\\xf5\\x04\\x0a\\x4d\\x00\\x01\\xff"
    other = offer[:4] + b"\\0\\0\\0\\0" + offer[8:]
    for packet in (b"", b"rubbish", asked, other, offer[:245], head, offer):
        server.sendto(packet, ("255.255.255.255", 68))
"""


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
        """Run a DHCP server on the host."""
        return self.running(
            "dnsmasq",
            "--no-daemon",
            "--conf-file=/dev/null",
            "--port=0",
            "--no-ping",
            "--interface=wire",
            "--dhcp-range=10.77.0.10,10.77.0.20,5m",
            f"--dhcp-leasefile={self.folder}/leases",
            "--pid-file=",
            "--user=root",
            *options,
            ready="lease time",
        )


@pytest.fixture
def link(tmp_path: Path) -> Iterator[DhcpLink]:
    with some_namespaces("host", "machine") as (host, machine):
        connect(host, "wire", machine)
        host.do("ip", "address", "add", f"{HOST}/24", "dev", "wire")
        yield DhcpLink(host=host, machine=machine, folder=tmp_path)


def test_a_dhcp_server_announces_the_service(link: DhcpLink) -> None:
    with link.dnsmasq(TELLS):
        result = link.python(ASK, "10")
    assert (result.code, result.out) == (0, f"{HOST}\n")
    assert (link.folder / "leases").read_text() == ""  # no lease was taken


def test_a_dhcp_server_without_the_option_is_named(link: DhcpLink) -> None:
    with link.dnsmasq():
        result = link.python(ASK, "0.5")
    assert "the DHCP server on eth0 tells no metadata service" in result.err


def test_a_missing_dhcp_server_is_reported_in_time(link: DhcpLink) -> None:
    result = link.python(ASK, "0.3")
    assert "no DHCP server on eth0 has answered" in result.err


def test_invalid_packets_are_ignored(link: DhcpLink) -> None:
    with link.running(sys.executable, "-c", RUDE, ready="ready"):
        result = link.python(ASK, "10")
    assert (result.code, result.out) == (0, f"{HOST}\n")


@pytest.mark.parametrize("port", [80, 8080])
def test_a_machine_without_a_virtual_network_finds_its_service(
    link: DhcpLink, port: int
) -> None:
    link.machine.do("ip", "address", "add", f"{VM}/24", "dev", "eth0")
    fleet = link.folder / "fleet.toml"
    fleet.write_text(FLEET)
    where = (f"{HOST}:{port}",)
    within = link.host.within
    with (
        serving(link.folder, fleet=fleet, metadata=where, within=within),
        link.dnsmasq(TELLS),
    ):
        result = link.python(DISCOVER)
    shown = f"http://{HOST}" if port == 80 else f"http://{HOST}:{port}"
    assert (result.out, result.err) == (f"{shown} lone\n", "")


def test_discovery_requires_root(link: DhcpLink) -> None:
    program = ASK.replace("try:", "import os, fcntl; os.setuid(65534)\ntry:")
    result = link.python(program, "0.3")
    assert "takes root" in result.err
