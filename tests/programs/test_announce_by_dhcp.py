"""The how-to on DHCP option 245, with the real dnsmasq, service and commands."""

import shlex
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.end_to_end.program import FOREWARN, environment_of, run, serving
from tests.patience import PATIENCE
from tests.programs.dhcp_link import HOST, VM, DhcpLink, a_dhcp_link
from tests.programs.installed import needs
from tests.programs.page import copied

pytestmark = [pytest.mark.slow, needs("dnsmasq", "ip", "unshare", "nsenter")]

PAGE = (
    Path(__file__).parents[2] / "docs" / "how-to" / "announce-the-endpoint-by-dhcp.md"
)
SERVE = "Serve on an address that the VMs reach"

FOUND = f"""\
forewarn: trying http://169.254.169.254
forewarn: requesting the address by DHCP, for up to 15 s
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
    text = copied("Use it in a VM", page_label, PAGE)
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
        assert "nothing is coming" in watching.stdout.readline()
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
        assert any("by DHCP" in line for line in watching.stderr)
        watching.send_signal(signal.SIGINT)
        assert watching.wait(PATIENCE) == 130
        assert watching.stderr.read() == ""
