"""Finding the service by a real DHCP server, in namespaces of its own."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.end_to_end.program import Ended, environment_of, finish, serving
from tests.programs.installed import needs
from tests.programs.network import Place, lay_wire, some_places

pytestmark = needs("dnsmasq", "ip", "unshare", "nsenter")

HOST, VM = "10.77.0.1", "10.77.0.5"
TELLS = "--dhcp-option-force=245,0a:4d:00:01"  # HOST

FLEET = f"""\
[[vms]]
name = "lone"
addresses = ["{VM}"]
"""

ASK = """
import sys
from forewarn.client.discovery import ask_dhcp
from forewarn.errors import ForewarnError
try:
    print(ask_dhcp(None, float(sys.argv[1])))
except ForewarnError as error:
    sys.exit(str(error))
"""

DISCOVER = """
from forewarn import Client
with Client.discover(dhcp_timeout=10) as client:
    print(client.endpoint, client.instance().name)
"""

#: Answers each question first with rubbish, then with an offer for 10.77.0.1.
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
class Wire:
    """A host and a machine on one wire."""

    host: Place
    machine: Place
    folder: Path

    def python(self, program: str, *words: str, **environment: str) -> Ended:
        """Run `program` on the machine."""
        command = [*self.machine.within, sys.executable, "-c", program, *words]
        return finish(command, self.folder, environment_of(self.folder, **environment))

    @contextmanager
    def running(self, *command: str, ready: str) -> Iterator[None]:
        """Run something on the host, once it has said that it is `ready`."""
        with subprocess.Popen(
            [*self.host.within, *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        ) as process:
            assert process.stdout is not None
            try:
                said = next((line for line in process.stdout if ready in line), None)
                assert said is not None, "it has ended"
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
def wire(tmp_path: Path) -> Iterator[Wire]:
    with some_places("host", "machine") as (host, machine):
        lay_wire(host, "wire", machine)
        host.do("ip", "address", "add", f"{HOST}/24", "dev", "wire")
        yield Wire(host=host, machine=machine, folder=tmp_path)


def test_a_dhcp_server_tells_where_the_service_is(wire: Wire) -> None:
    with wire.dnsmasq(TELLS):
        said = wire.python(ASK, "10")
    assert (said.code, said.out) == (0, f"{HOST}\n")
    assert (wire.folder / "leases").read_text() == ""  # nothing was taken


def test_a_dhcp_server_that_does_not_tell_is_named(wire: Wire) -> None:
    with wire.dnsmasq():
        said = wire.python(ASK, "0.5")
    assert "the DHCP server on eth0 tells no metadata service" in said.err


def test_no_dhcp_server_is_a_sentence_in_time(wire: Wire) -> None:
    said = wire.python(ASK, "0.3")
    assert "no DHCP server on eth0 has answered" in said.err


def test_rubbish_is_ignored(wire: Wire) -> None:
    with wire.running(sys.executable, "-c", RUDE, ready="ready"):
        said = wire.python(ASK, "10")
    assert (said.code, said.out) == (0, f"{HOST}\n")


@pytest.mark.parametrize("port", [80, 8080])
def test_a_machine_without_a_virtual_network_finds_its_service(
    wire: Wire, port: int
) -> None:
    wire.machine.do("ip", "address", "add", f"{VM}/24", "dev", "eth0")
    fleet = wire.folder / "fleet.toml"
    fleet.write_text(FLEET)
    where = (f"{HOST}:{port}",)
    within = wire.host.within
    with (
        serving(wire.folder, fleet=fleet, metadata=where, within=within),
        wire.dnsmasq(TELLS),
    ):
        said = wire.python(DISCOVER)
    shown = f"http://{HOST}" if port == 80 else f"http://{HOST}:{port}"
    assert (said.out, said.err) == (f"{shown} lone\n", "")


def test_asking_takes_root_and_says_so(wire: Wire) -> None:
    program = ASK.replace("try:", "import os, fcntl; os.setuid(65534)\ntry:")
    said = wire.python(program, "0.3")
    assert "takes root" in said.err
