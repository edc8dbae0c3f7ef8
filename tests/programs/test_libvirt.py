"""The script for libvirt, with real VMs on two hosts."""

import os
import shutil
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from tests.drivers.scripts import a_work, reports, write_script
from tests.end_to_end.program import until
from tests.patience import PATIENCE
from tests.programs.installed import needs
from tests.programs.libvirt_hosts import PROGRAMS, LibvirtHosts

from forewarn.core.fleet import VM
from forewarn.drivers.script import ScriptDriver
from forewarn.ports import Report
from forewarn.protocol.types import EventType

pytestmark = [pytest.mark.full, needs(*PROGRAMS)]

SCRIPT = Path(__file__).parents[2] / "examples" / "scripts" / "maintain-libvirt.sh"

#: A virsh whose resume takes longer than the script lives.
SLOW = """\
test "$4" != resume || sleep 1
exec {virsh} "$@"
"""

#: Runs the script for some VMs of host-a.
CarryOut = Callable[..., Sequence[Report]]


@pytest.fixture
def carry_out(hosts: LibvirtHosts, monkeypatch: pytest.MonkeyPatch) -> CarryOut:
    monkeypatch.setenv("URI", hosts.uri)
    monkeypatch.setenv("SHUTDOWN", "1")

    def run(
        type: EventType,
        *vms: str,
        duration: int = -1,
        attempt: int = 1,
        timeout: float = PATIENCE,
    ) -> Sequence[Report]:
        named = [VM(name=vm, group=vm, host="host-a") for vm in vms]
        work = a_work(*named, type=type, duration=duration, attempt=attempt)
        driver = ScriptDriver([str(SCRIPT)], timeout=timeout, grace=0.3)
        return reports(driver.carry_out(work))

    return run


def all_done(reports: Sequence[Report]) -> bool:
    return not any(report.failed for report in reports)


# --- Freeze ------------------------------------------------------------------


def test_a_freeze_pauses_all_vms_together_for_the_duration(
    hosts: LibvirtHosts, carry_out: CarryOut
) -> None:
    hosts.start("host-a", "cold-0", "cold-1")
    assert all_done(carry_out(EventType.FREEZE, "cold-0", "cold-1", duration=1))
    (began, ended), (began_too, ended_too) = map(hosts.pause_of, ("cold-0", "cold-1"))
    assert ended - began >= timedelta(seconds=1)
    assert ended_too - began_too >= timedelta(seconds=1)
    assert began_too < ended


def test_a_vm_that_was_paused_or_stopped_before_is_not_resumed(
    hosts: LibvirtHosts, carry_out: CarryOut
) -> None:
    hosts.start("host-a", "rests", "sleeps")
    hosts.virsh("host-a", "suspend", "rests")
    hosts.virsh("host-a", "destroy", "sleeps")
    assert all_done(carry_out(EventType.FREEZE, "rests", "sleeps", duration=0))
    assert hosts.state("host-a", "rests") == "paused"
    assert hosts.state("host-a", "sleeps") == "shut off"


def test_a_vm_left_paused_by_the_first_attempt_is_resumed_by_the_second(
    hosts: LibvirtHosts, carry_out: CarryOut
) -> None:
    hosts.start("host-a", "stays")
    hosts.virsh("host-a", "suspend", "stays")
    assert all_done(carry_out(EventType.FREEZE, "stays", duration=0, attempt=2))
    assert hosts.state("host-a", "stays") == "running"


# --- Reboot and Redeploy -----------------------------------------------------


def test_a_reboot_resets_running_vms_and_leaves_the_rest_stopped(
    hosts: LibvirtHosts, carry_out: CarryOut
) -> None:
    hosts.start("host-a", "runs", "idles")
    hosts.virsh("host-a", "destroy", "idles")
    assert all_done(carry_out(EventType.REBOOT, "runs", "idles"))
    until(lambda: "reboot" in hosts.events("runs"))
    assert hosts.state("host-a", "runs") == "running"
    assert hosts.state("host-a", "idles") == "shut off"


def test_a_redeploy_without_a_target_stops_and_starts(
    hosts: LibvirtHosts, carry_out: CarryOut
) -> None:
    hosts.start("host-a", "again")
    assert all_done(carry_out(EventType.REDEPLOY, "again"))
    until(lambda: hosts.events("again").count("Started Booted") == 2)
    assert hosts.state("host-a", "again") == "running"


def test_a_vm_left_stopped_by_the_first_redeploy_is_started_by_the_second(
    hosts: LibvirtHosts, carry_out: CarryOut
) -> None:
    hosts.start("host-a", "half")
    hosts.virsh("host-a", "destroy", "half")
    assert all_done(carry_out(EventType.REDEPLOY, "half"))
    assert hosts.state("host-a", "half") == "shut off"  # as it was before
    assert all_done(carry_out(EventType.REDEPLOY, "half", attempt=2))
    assert hosts.state("host-a", "half") == "running"


def test_a_redeploy_moves_vms_to_the_target_and_reports_where_they_are(
    hosts: LibvirtHosts,
    carry_out: CarryOut,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reported = tmp_path / "told"
    tell = write_script(tmp_path / "tell", f'echo "$@" >>{reported}')
    monkeypatch.setenv("TARGET", "host-b")
    monkeypatch.setenv("MOVED", str(tell))
    hosts.start("host-a", "moves", "follows")
    hosts.virsh("host-a", "destroy", "follows")
    assert all_done(carry_out(EventType.REDEPLOY, "moves", "follows"))
    assert hosts.state("host-a", "moves") == hosts.state("host-a", "follows") == "gone"
    assert hosts.state("host-b", "moves") == "running"
    assert hosts.state("host-b", "follows") == "shut off"
    assert all_done(carry_out(EventType.REDEPLOY, "moves", attempt=2))
    assert reported.read_text().splitlines() == [
        *("moves host-b", "follows host-b", "moves host-b")
    ]


# --- Preempt and Terminate ---------------------------------------------------


def test_a_preempt_cuts_the_power_of_a_vm_that_does_not_shut_down(
    hosts: LibvirtHosts, carry_out: CarryOut
) -> None:
    hosts.start("host-a", "deaf")
    for attempt in (1, 2):
        assert all_done(carry_out(EventType.PREEMPT, "deaf", attempt=attempt))
        assert hosts.state("host-a", "deaf") == "shut off"
    assert hosts.events("deaf").count("Stopped Destroyed") == 1


def test_a_terminate_deletes_the_vm_and_leaves_its_disk(
    hosts: LibvirtHosts, carry_out: CarryOut, tmp_path: Path
) -> None:
    disk = tmp_path / "disk"
    disk.write_bytes(bytes(512))
    hosts.start("host-a", "over", disk=disk)
    for attempt in (1, 2):
        assert all_done(carry_out(EventType.TERMINATE, "over", attempt=attempt))
        assert hosts.state("host-a", "over") == "gone"
    assert disk.exists()


# --- failures ----------------------------------------------------------------


@pytest.mark.parametrize("type", [EventType.FREEZE, EventType.REBOOT])
def test_a_failure_shows_the_message_of_virsh_and_stops_no_other_vm(
    hosts: LibvirtHosts, carry_out: CarryOut, type: EventType
) -> None:
    well = f"well-{type}"
    hosts.start("host-a", well)
    by_vm = {report.vm: report for report in carry_out(type, "lost", well, duration=0)}
    assert by_vm["lost"].detail == "error: failed to get domain 'lost'"
    assert [report.failed for report in by_vm.values()] == [True, False]


@pytest.mark.parametrize("type", EventType)
def test_an_unreachable_host_is_a_failure(
    carry_out: CarryOut, monkeypatch: pytest.MonkeyPatch, type: EventType
) -> None:
    monkeypatch.setenv("URI", "qemu+unix:///system?socket=/nowhere/of/HOST")
    (failure,) = carry_out(type, "web-0", duration=0)
    assert failure.failed
    assert "/nowhere/of/host-a" in failure.detail


def test_a_freeze_that_takes_too_long_is_ended_and_the_vm_runs(
    hosts: LibvirtHosts,
    carry_out: CarryOut,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    write_script(tmp_path / "virsh", SLOW.format(virsh=shutil.which("virsh")))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    hosts.start("host-a", "late")
    (failure,) = carry_out(EventType.FREEZE, "late", duration=60, timeout=4)
    assert failure.detail == "took longer than 4 s"
    hosts.pause_of("late")
    assert hosts.state("host-a", "late") == "running"
