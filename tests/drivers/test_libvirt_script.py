"""Example script for libvirt, run with a fake virsh.

The fake logs its commands and keeps the state of each VM in a file named after the host
and the VM. tests/programs/test_libvirt.py runs the script with real VMs.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.drivers.scripts import a_work, reports, write_script
from tests.end_to_end.program import until
from tests.patience import PATIENCE
from tests.programs.installed import needs

from forewarn.core.fleet import VM
from forewarn.drivers.script import ScriptDriver
from forewarn.ports import Report
from forewarn.protocol.types import EventType

pytestmark = needs("jq", "setsid")

SCRIPT = Path(__file__).parents[2] / "examples" / "scripts" / "maintain-libvirt.sh"

#: virsh -q -c HOST COMMAND ...
VIRSH = """\
cd {folder}
host=$3
shift 3
test -e $host || {{ echo "error: cannot connect to $host" >&2; exit 1; }}
case $1 in
    list) ls | sed -n "s/^$host[.]//p"; exit ;;
    domstate) cat $host.$2; exit ;;
    migrate) echo "$1 $2 $5 $6" >>trace; mv $host.$5 $6.$5; exit ;;
esac
echo "$1 $2" >>trace
test -e $host.$2 || {{ echo "error: failed to get domain '$2'" >&2; exit 1; }}
case $1 in
    suspend) echo paused >$host.$2 ;;
    resume | reset | start) echo running >$host.$2 ;;
    destroy) echo shut off >$host.$2 ;;
    undefine) rm $host.$2 ;;
esac
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FakeLibvirt:
    """The state kept by the fake virsh of host-a and host-b."""

    folder: Path

    def keep(self, vm: str, state: str = "running") -> None:
        """Put `vm` on host-a."""
        (self.folder / f"host-a.{vm}").write_text(f"{state}\n")

    def state(self, vm: str, host: str = "host-a") -> str:
        """Return the state of `vm`, or "gone" if it is not on `host`."""
        file = self.folder / f"{host}.{vm}"
        return file.read_text().strip() if file.exists() else "gone"

    def carry_out(
        self,
        type: EventType,
        *vms: str,
        duration: int = 0,
        attempt: int = 1,
        timeout: float = PATIENCE,
    ) -> Sequence[Report]:
        """Run the script for `vms` of host-a."""
        named = [VM(name=vm, group=vm, host="host-a") for vm in vms]
        work = a_work(*named, type=type, duration=duration, attempt=attempt)
        driver = ScriptDriver([str(SCRIPT)], timeout=timeout, grace=0.3)
        return reports(driver.carry_out(work))

    @property
    def orders(self) -> list[str]:
        """Return the logged commands, without those that only read."""
        trace = self.folder / "trace"
        return trace.read_text().splitlines() if trace.exists() else []


@pytest.fixture
def libvirt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakeLibvirt:
    write_script(tmp_path / "virsh", VIRSH.format(folder=tmp_path))
    for host in ("host-a", "host-b"):
        (tmp_path / host).touch()
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("URI", "HOST")
    monkeypatch.setenv("SHUTDOWN", "0")
    return FakeLibvirt(folder=tmp_path)


def all_done(said: Sequence[Report]) -> bool:
    return bool(said) and not any(report.failed for report in said)


@pytest.mark.parametrize(
    ("type", "orders", "state"),
    [
        (EventType.FREEZE, ["suspend a", "resume a"], "running"),
        (EventType.REBOOT, ["reset a"], "running"),
        (EventType.REDEPLOY, ["destroy a", "start a"], "running"),
        (EventType.PREEMPT, ["shutdown a", "destroy a"], "shut off"),
        (EventType.TERMINATE, ["destroy a", "undefine a"], "gone"),
    ],
)
def test_libvirt_commands_match_the_event_type_and_may_be_repeated(
    libvirt: FakeLibvirt, type: EventType, orders: Sequence[str], state: str
) -> None:
    libvirt.keep("a")
    assert all_done(libvirt.carry_out(type, "a"))
    assert libvirt.orders == orders
    assert libvirt.state("a") == state
    assert all_done(libvirt.carry_out(type, "a", attempt=2))
    assert libvirt.state("a") == state


@pytest.mark.parametrize("type", [EventType.FREEZE, EventType.REBOOT])
def test_stopped_libvirt_vm_stays_stopped(
    libvirt: FakeLibvirt, type: EventType
) -> None:
    libvirt.keep("a", "shut off")
    assert all_done(libvirt.carry_out(type, "a"))
    assert libvirt.state("a") == "shut off"


def test_freeze_pauses_all_libvirt_vms_together(libvirt: FakeLibvirt) -> None:
    libvirt.keep("a")
    libvirt.keep("b")
    assert all_done(libvirt.carry_out(EventType.FREEZE, "a", "b"))
    assert libvirt.orders == ["suspend a", "suspend b", "resume a", "resume b"]


def test_libvirt_vm_paused_before_the_first_attempt_stays_paused(
    libvirt: FakeLibvirt,
) -> None:
    libvirt.keep("a", "paused")
    assert all_done(libvirt.carry_out(EventType.FREEZE, "a"))
    assert libvirt.state("a") == "paused"
    assert all_done(libvirt.carry_out(EventType.FREEZE, "a", attempt=2))
    assert libvirt.state("a") == "running"


def test_libvirt_vm_stopped_by_the_first_redeploy_is_started_by_the_second(
    libvirt: FakeLibvirt,
) -> None:
    libvirt.keep("a", "shut off")
    assert all_done(libvirt.carry_out(EventType.REDEPLOY, "a", attempt=2))
    assert libvirt.state("a") == "running"


def test_redeploy_moves_libvirt_vms_to_the_target_and_reports_where_they_are(
    libvirt: FakeLibvirt, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell = write_script(libvirt.folder / "tell", f"echo $@ >>{libvirt.folder}/told")
    monkeypatch.setenv("TARGET", "host-b")
    monkeypatch.setenv("MOVED", str(tell))
    libvirt.keep("a")
    libvirt.keep("off", "shut off")
    assert all_done(libvirt.carry_out(EventType.REDEPLOY, "a", "off"))
    assert libvirt.orders == [
        "migrate --live a host-b",
        "migrate --offline off host-b",
    ]
    assert (libvirt.state("a"), libvirt.state("a", "host-b")) == ("gone", "running")
    assert all_done(libvirt.carry_out(EventType.REDEPLOY, "a", attempt=2))
    told = (libvirt.folder / "told").read_text().splitlines()
    assert told == ["a host-b", "off host-b", "a host-b"]


@pytest.mark.parametrize("type", [EventType.FREEZE, EventType.REBOOT])
def test_failure_shows_the_message_of_virsh_and_stops_no_other_vm(
    libvirt: FakeLibvirt, type: EventType
) -> None:
    libvirt.keep("a")
    by_vm = {each.vm: each for each in libvirt.carry_out(type, "lost", "a")}
    assert by_vm["lost"].detail == "error: failed to get domain 'lost'"
    assert [report.failed for report in by_vm.values()] == [True, False]


@pytest.mark.parametrize("type", [EventType.FREEZE, EventType.REBOOT])
def test_unreachable_libvirt_host_is_a_failure(
    libvirt: FakeLibvirt, type: EventType
) -> None:
    libvirt.keep("a")
    (libvirt.folder / "host-a").unlink()
    (failure,) = libvirt.carry_out(type, "a")
    assert failure.failed
    assert "cannot connect to host-a" in failure.detail


def test_libvirt_vm_runs_again_after_a_freeze_that_takes_too_long(
    libvirt: FakeLibvirt,
) -> None:
    libvirt.keep("a")
    (failure,) = libvirt.carry_out(EventType.FREEZE, "a", duration=60, timeout=1)
    assert failure.detail == "took longer than 1 s"
    until(lambda: libvirt.state("a") == "running")
