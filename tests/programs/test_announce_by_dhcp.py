"""The how-to on DHCP option 245, with the real dnsmasq, service and commands."""

import shlex
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.end_to_end.agents import an_agent
from tests.end_to_end.program import FOREWARN, environment_of, run, serving
from tests.patience import PATIENCE
from tests.programs.dhcp_link import HOST, VM, DhcpLink, a_dhcp_link
from tests.programs.installed import needs
from tests.programs.page import copied

pytestmark = [pytest.mark.slow, needs("dnsmasq", "ip", "unshare", "nsenter")]

PAGE = (
    Path(__file__).parents[2] / "docs" / "how-to" / "announce-the-endpoint-by-dhcp.md"
)
RANGE = (
    "--conf-file=/dev/null",
    "--interface=br0",
    "--dhcp-range=10.77.0.10,10.77.0.20,5m",
)
SERVE = "Serve on an address that VMs can reach"

FOUND = f"""\
forewarn: trying http://169.254.169.254
forewarn: requesting the address via DHCP, for up to 15 s
forewarn: trying http://{HOST}
forewarn: found the metadata service at http://{HOST}
"""


@pytest.fixture
def link(tmp_path: Path) -> Iterator[DhcpLink]:
    with a_dhcp_link(tmp_path, "br0") as link:
        link.machine.do("ip", "address", "add", f"{VM}/24", "dev", "eth0")
        yield link


@contextmanager
def started(link: DhcpLink, *words: str) -> Iterator[subprocess.Popen[str]]:
    """Run forewarn on the machine in the background."""
    with subprocess.Popen(
        [*link.machine.within, *FOREWARN, *words],
        env=environment_of(link.folder),
        cwd=link.folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def lines_of(page_label: str) -> list[list[str]]:
    """Return the commands of the page with that label, without `forewarn`."""
    text = copied("Find the endpoint in a VM", page_label, PAGE)
    return [shlex.split(line)[1:] for line in text.splitlines()]


def test_a_vm_sees_and_approves_an_event_at_the_announced_address(
    link: DhcpLink,
) -> None:
    fleet = copied(SERVE, "toml fleet.toml", PAGE)
    serve = shlex.split(copied(SERVE, "sh serve", PAGE))
    metadata = (serve[serve.index("--metadata") + 1],)
    dnsmasq = link.folder / "dnsmasq.conf"
    dnsmasq.write_text(copied("Configure the DHCP server", "ini dnsmasq.conf", PAGE))
    watch, approve = lines_of("sh vm")
    within = link.host.within
    with (
        serving(link.folder, fleet=fleet, metadata=metadata, within=within) as program,
        link.dnsmasq(f"--conf-file={dnsmasq}"),
        started(link, *watch) as watching,
    ):
        assert watching.stdout is not None
        assert "no events" in watching.stdout.readline()
        url = {"FOREWARN_URL": program.service.control}
        announce = ("announce", "reboot", "--vm", "web-0")
        announced = run(link.folder, *announce, within=within, **url)
        assert announced.code == 0, announced.err
        assert "appeared" in watching.stdout.readline()
        approved = run(link.folder, *approve, within=link.machine.within)
        assert (approved.code, approved.err) == (0, FOUND)
        assert approved.out.startswith("approved ")
        assert "started" in watching.stdout.readline()
        assert FOUND in PAGE.read_text()


def test_ctrl_c_ends_the_search(link: DhcpLink) -> None:
    with started(link, "watch", "--discover") as watching:
        assert watching.stderr is not None
        assert any("via DHCP" in line for line in watching.stderr)
        watching.send_signal(signal.SIGINT)
        assert watching.wait(PATIENCE) == 130
        assert watching.stderr.read() == ""


def test_the_agent_finds_the_announced_address_and_follows_it(link: DhcpLink) -> None:
    fleet = copied(SERVE, "toml fleet.toml", PAGE)
    rules = copied("Run the agent", "toml agent.toml", PAGE)
    (link.folder / "a").mkdir()
    (link.folder / "b").mkdir()
    within = link.host.within
    options = ("--log-level", "debug")
    with an_agent(
        link.folder,
        None,
        'name = "web-0"\nblind_after_seconds = 1\n' + rules,
        *options,
        within=link.machine.within,
    ) as agent:
        agent.wait_for_log("requesting the address via DHCP")  # nobody responds yet
        first = (f"{HOST}:80",)
        with (
            serving(
                link.folder / "a", fleet=fleet, metadata=first, within=within
            ) as program,
            link.dnsmasq(*RANGE, f"--dhcp-option=245,{HOST}"),
        ):
            agent.wait_for_log(f"reading documents from http://{HOST}\n")
            url = {"FOREWARN_URL": program.service.control}
            announce = ("announce", "reboot", "--vm", "web-0")
            announced = run(link.folder, *announce, within=within, **url)
            assert announced.code == 0, announced.err
            agent.wait_for("approved")
        second = "10.77.0.2"
        link.host.do("ip", "address", "add", f"{second}/24", "dev", "br0")
        with (
            serving(
                link.folder / "b",
                fleet=fleet,
                metadata=(f"{second}:80",),
                within=within,
            ),
            link.dnsmasq(*RANGE, f"--dhcp-option=245,{second}"),
        ):
            agent.wait_for_log(f"reading documents from http://{second}\n")
        assert agent.stop() == 0


def test_the_agent_stops_during_a_search(link: DhcpLink) -> None:
    rules = copied("Run the agent", "toml agent.toml", PAGE)
    options = ("--log-level", "debug")
    within = link.machine.within
    with an_agent(link.folder, None, rules, *options, within=within) as agent:
        agent.wait_for_log("requesting the address via DHCP")
        began = time.monotonic()
        assert agent.stop() == 0
        assert time.monotonic() - began < 10  # the search would take 15 s
        assert agent.lines("began")[0]["endpoint"] is None
