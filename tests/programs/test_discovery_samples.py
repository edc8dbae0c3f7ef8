"""The discovery samples of examples/clients, with the real dnsmasq."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from tests.end_to_end.program import FinishedCommand, run, serving
from tests.patience import PATIENCE
from tests.programs.dhcp_link import HOST, VM, DhcpLink, a_dhcp_link
from tests.programs.installed import needs, run_program
from tests.programs.interactive_program import running_program
from tests.programs.network import connect
from tests.programs.page import copied
from tests.programs.test_client_samples import SAMPLES, built

pytestmark = [pytest.mark.slow, needs("dnsmasq", "ip", "unshare", "nsenter")]

FOLDER = SAMPLES / "discovery"

#: The commands that each sample needs.
NEEDS: Mapping[str, tuple[str, ...]] = {
    "discover_endpoint.py": (),
    "discover-endpoint.sh": ("bash", "socat", "xxd"),
    "discover-endpoint.js": ("node",),
    "DiscoverEndpoint.cs": ("mcs", "mono"),
    "discover_endpoint.go": ("go",),
}

DNSMASQ = (
    "--conf-file=/dev/null",
    "--interface=wire",
    "--dhcp-range=10.77.0.10,10.77.0.20,5m",
)
ANNOUNCED = "10.77.10.255"  # bytes that are easy to get wrong: a line feed and an end
FLEET = f'[[vms]]\nname = "web-0"\naddresses = ["{VM}"]\n'
RECEIVE = """
import socket
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as server:
    server.bind(("", 67))
    server.recv(2000)
    print("received")
"""
NO_REPLY = "discover: no DHCP server on eth0 announced option 245\n"


def combinations() -> list[str]:
    """Return the commands of the page that need no build."""
    text = copied("Find the endpoint by DHCP", "sh combined", SAMPLES / "README.md")
    return text.strip().split("\n\n")


@pytest.fixture(
    scope="module",
    params=[pytest.param(name, marks=needs(*NEEDS[name])) for name in NEEDS],
)
def command(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> list[str]:
    return built(f"discovery/{request.param}", tmp_path_factory.mktemp("sample"))


@pytest.fixture
def link(tmp_path: Path) -> Iterator[DhcpLink]:
    with a_dhcp_link(tmp_path) as link:
        link.machine.do("ip", "address", "add", f"{VM}/24", "dev", "eth0")
        yield link


def discover(
    link: DhcpLink, command: list[str], *words: str, seconds: int | str
) -> FinishedCommand:
    """Run a sample on the machine."""
    return run_program(
        link.folder,
        *command,
        *words,
        within=link.machine.within,
        DISCOVER_SECONDS=str(seconds),
    )


def test_every_discovery_sample_is_tested() -> None:
    assert {file.name for file in FOLDER.iterdir()} == set(NEEDS)


def test_a_sample_finds_the_announced_address(
    link: DhcpLink, command: list[str]
) -> None:
    with link.dnsmasq(*DNSMASQ, f"--dhcp-option=245,{ANNOUNCED}"):
        found = discover(link, command, seconds=15)
        assert (found.code, found.out, found.err) == (0, f"{ANNOUNCED}\n", "")
    assert (link.folder / "leases").read_text() == ""  # it takes none


def test_a_sample_uses_the_interface_that_it_is_given(
    link: DhcpLink, command: list[str]
) -> None:
    other = ("other", "type", "veth", "peer", "name", "unused")
    link.machine.do("ip", "link", "add", *other)
    link.machine.do("ip", "address", "add", "10.88.0.1/24", "dev", "other")
    link.machine.do("ip", "link", "set", "other", "up")
    link.machine.do("ip", "link", "set", "unused", "up")
    link.machine.do("ip", "route", "add", "default", "dev", "other")
    with link.dnsmasq(*DNSMASQ, f"--dhcp-option=245,{HOST}"):
        found = discover(link, command, "eth0", seconds=15)
        assert (found.code, found.out) == (0, f"{HOST}\n")
        missed = discover(link, command, "other", seconds=1)
        assert (missed.code, missed.out) == (1, "")


def test_a_sample_works_without_an_address_or_reports_that_it_cannot(
    link: DhcpLink, command: list[str]
) -> None:
    link.machine.do("ip", "address", "flush", "dev", "eth0")
    sends_from_an_address = command[0] == "mono" or command[0].endswith(".js")
    expected = (0, f"{HOST}\n", "")
    if sends_from_an_address:
        expected = (
            1,
            "",
            "discover: no Ethernet interface 'eth0' with an IPv4 address\n",
        )
    with link.dnsmasq(*DNSMASQ, f"--dhcp-option=245,{HOST}"):
        done = discover(link, command, "eth0", seconds=15)
        assert (done.code, done.out, done.err) == expected


def test_without_a_reply_a_sample_prints_an_error_message(
    link: DhcpLink, command: list[str]
) -> None:
    failed = discover(link, command, "eth0", seconds=1)
    assert (failed.code, failed.out, failed.err) == (1, "", NO_REPLY)


def test_a_reply_without_the_option_counts_as_none(
    link: DhcpLink, command: list[str]
) -> None:
    with link.dnsmasq(*DNSMASQ):
        failed = discover(link, command, "eth0", seconds=1)
        assert (failed.code, failed.out, failed.err) == (1, "", NO_REPLY)


@pytest.mark.skipif(not Path("/dev/net/tun").exists(), reason="needs /dev/net/tun")
def test_a_sample_skips_a_tunnel_interface(link: DhcpLink, command: list[str]) -> None:
    link.machine.do("ip", "link", "delete", "eth0")
    link.machine.do("ip", "tuntap", "add", "mode", "tun", "name", "tunnel")
    link.machine.do("ip", "address", "add", "10.88.0.1/24", "dev", "tunnel")
    link.machine.do("ip", "link", "set", "tunnel", "up")
    connect(link.host, "wire", link.machine)  # a new eth0, after the tunnel
    link.machine.do("ip", "address", "add", f"{VM}/24", "dev", "eth0")
    failed = discover(link, command, seconds=1)
    assert (failed.code, failed.err) == (1, NO_REPLY)


@pytest.mark.parametrize("seconds", ["soon", "0", "1.5"])
def test_an_invalid_number_of_seconds_is_an_error(
    link: DhcpLink, command: list[str], seconds: str
) -> None:
    failed = discover(link, command, "eth0", seconds=seconds)
    problem = f"discover: DISCOVER_SECONDS must be from 1 to 9999, not '{seconds}'\n"
    assert (failed.code, failed.out, failed.err) == (1, "", problem)


def test_ctrl_c_ends_a_sample_without_a_traceback(
    link: DhcpLink, command: list[str]
) -> None:
    with subprocess.Popen(
        [*link.machine.within, *command, "eth0"],
        stderr=subprocess.PIPE,
        start_new_session=True,  # Ctrl-C reaches all processes of a terminal
    ) as process:
        with link.running(sys.executable, "-c", RECEIVE, ready="received"):
            os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE)
    assert errors == b""
    assert process.returncode in (130, -signal.SIGINT)


@needs("setpriv")
def test_without_root_a_sample_prints_an_error_message(
    link: DhcpLink, command: list[str]
) -> None:
    unprivileged = ("setpriv", "--bounding-set=-all", "--inh-caps=-all")
    failed = discover(link, [*unprivileged, *command], "eth0", seconds=1)
    assert (failed.code, failed.out) == (1, "")
    assert failed.err.splitlines()[-1].startswith("discover: ")
    assert failed.err.endswith("as root\n")


@needs("bash", "ip")
@pytest.mark.parametrize("tool", ["awk", "ip", "socat", "xxd"])
def test_the_bash_sample_names_a_missing_command(link: DhcpLink, tool: str) -> None:
    tools = link.folder / "tools"
    tools.mkdir()
    for other in {"awk", "bash", "ip", "socat", "xxd"} - {tool}:
        (tools / other).symlink_to(shutil.which(other) or "/bin/true")
    command = ["env", f"PATH={tools}", "bash", str(FOLDER / "discover-endpoint.sh")]
    failed = discover(link, command, seconds=1)
    assert (failed.code, failed.err) == (1, f"discover: {tool} is not installed\n")


def test_too_many_arguments_are_an_error(link: DhcpLink, command: list[str]) -> None:
    done = discover(link, command, "eth0", "eth1", seconds=1)
    assert done.code == 2
    assert done.err.startswith("usage: ")


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(line, marks=needs(*tools), id=tools[0])
        for line, tools in zip(
            combinations(),
            [("python3",), ("bash", "socat", "xxd", "curl", "jq"), ("node",)],
            strict=True,
        )
    ],
)
def test_a_client_sample_polls_the_address_that_a_discovery_sample_prints(
    link: DhcpLink, line: str
) -> None:
    as_root = line.replace("sudo ", "").replace("FOREWARN", "exec env FOREWARN")
    script = f"cd {SAMPLES.parents[1]} && {as_root}"
    command = [*link.machine.within, "bash", "-c", script]
    within = link.host.within
    address = (f"{HOST}:80",)
    with (
        serving(link.folder, fleet=FLEET, metadata=address, within=within) as program,
        link.dnsmasq(*DNSMASQ, f"--dhcp-option=245,{HOST}"),
        running_program(command, link.folder, {"POLL_SECONDS": "0.1"}) as sample,
    ):
        announce = ("announce", "reboot", "--vm", "web-0")
        url = {"FOREWARN_URL": program.service.control}
        announced = run(link.folder, *announce, within=within, **url)
        assert announced.code == 0, announced.err
        assert sample.lines.get(timeout=PATIENCE).endswith(" Reboot Scheduled")
