"""Example scripts for Proxmox and OpenStack, run with fake commands.

A fake command logs its arguments and keeps the state of each VM in a file named after
the host and the VM.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.drivers.scripts import a_work, reports, write_script
from tests.end_to_end.program import until
from tests.patience import PATIENCE

from forewarn.core.fleet import VM
from forewarn.drivers.script import ScriptDriver
from forewarn.ports import Report
from forewarn.protocol.types import EventType

SCRIPTS = Path(__file__).parents[2] / "examples" / "scripts"

#: ssh -o BatchMode=yes root@NODE qm COMMAND NUMBER ...
SSH = """\
cd {folder}
node=${{3#root@}} here=${{3#root@}}.$6
shift 3
test $2 = status || echo "$node: $*" >>trace
test -e $here || {{ echo "qemu-server/$3.conf does not exist" >&2; exit 2; }}
test ! -e refuse-$2 || {{ echo "cannot \\"$2\\"" >&2; exit 255; }}
test $2 != resume || test ! -e slow || sleep 4
case $2 in
    status) echo "status: $(cat $here)" ;;
    suspend) echo paused >$here ;;
    resume | reset | start) echo running >$here ;;
    stop | shutdown) echo stopped >$here ;;
    migrate) mv $here $4.$3 ;;
    destroy) rm $here ;;
esac
"""

#: openstack --os-compute-api-version 2.30 server COMMAND ... SERVER
OPENSTACK = """\
cd {folder}
shift 3
for server; do :; done
here=$(ls | grep "[.]$server$") || {{ echo "No Server found for $server" >&2; exit 1; }}
test $1 = show || echo "$*" >>trace
test ! -e refuse-$1 || {{ echo "cannot \\"$1\\"" >&2; exit 1; }}
test $1 != unpause || test ! -e slow || sleep 4
case "$1 $5" in
    "show status") cat $here ;;
    "show OS-EXT-SRV-ATTR:host") echo ${{here%%.*}} ;;
    pause*) echo PAUSED >$here ;;
    unpause* | reboot*) echo ACTIVE >$here ;;
    stop*) echo SHUTOFF >$here ;;
    migrate*) test -e stays || mv $here node-b.$server ;;
    delete*) rm $here ;;
esac
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FakePlatform:
    """An example script and the state kept by its fake commands."""

    script: Path
    folder: Path
    running: str  # the state of a running VM, as this platform names it

    def add_vm(self, host: str, vm: str, state: str | None = None) -> None:
        """Put `vm` on `host`, running or in another `state`."""
        (self.folder / f"{host}.{vm}").write_text((state or self.running) + "\n")

    def state(self, host: str, vm: str) -> str | None:
        """Return the state of `vm`, or None if it is not on `host`."""
        file = self.folder / f"{host}.{vm}"
        return file.read_text().strip() if file.exists() else None

    def carry_out(
        self,
        type: EventType,
        *vms: str,
        timeout: float = PATIENCE,
        grace: float = 0.3,
        duration: int = 0,
        attempt: int = 1,
    ) -> Sequence[Report]:
        """Run the script for `vms`, which forewarn believes to be on node-a."""
        named = [
            VM(
                name=f"web-{vm}",
                group="web",
                host="node-a",
                tags={"vmid": vm},
                vm_id=vm,
            )
            for vm in vms
        ]
        work = a_work(*named, type=type, duration=duration, attempt=attempt)
        driver = ScriptDriver([str(self.script)], timeout=timeout, grace=grace)
        return reports(driver.carry_out(work))

    @property
    def orders(self) -> list[str]:
        """Return the logged commands, without those that only read."""
        trace = self.folder / "trace"
        return trace.read_text().splitlines() if trace.exists() else []


@pytest.fixture
def proxmox(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakePlatform:
    write_script(tmp_path / "ssh", SSH.format(folder=tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    script = SCRIPTS / "maintain-proxmox.py"
    return FakePlatform(script=script, folder=tmp_path, running="running")


@pytest.fixture
def openstack(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakePlatform:
    write_script(tmp_path / "openstack", OPENSTACK.format(folder=tmp_path))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    script = SCRIPTS / "maintain-openstack.py"
    return FakePlatform(script=script, folder=tmp_path, running="ACTIVE")


@pytest.fixture(params=["proxmox", "openstack"])
def platform(request: pytest.FixtureRequest) -> FakePlatform:
    """Run the test with both platforms."""
    platform = request.getfixturevalue(request.param)
    assert isinstance(platform, FakePlatform)
    return platform


def all_done(said: Sequence[Report]) -> bool:
    return bool(said) and not any(report.failed for report in said)


# --- arguments of the commands -----------------------------------------------


@pytest.mark.parametrize(
    ("type", "orders"),
    [
        (EventType.FREEZE, ["suspend 100", "resume 100"]),
        (EventType.REBOOT, ["reset 100"]),
        (EventType.REDEPLOY, ["stop 100", "start 100"]),
        (EventType.PREEMPT, ["shutdown 100 --timeout 60 --forceStop 1"]),
        (EventType.TERMINATE, ["stop 100", "destroy 100 --purge 1"]),
    ],
)
def test_proxmox_commands_match_the_event_type(
    proxmox: FakePlatform, type: EventType, orders: Sequence[str]
) -> None:
    proxmox.add_vm("node-a", "100")
    assert all_done(proxmox.carry_out(type, "100"))
    assert proxmox.orders == [f"node-a: qm {order}" for order in orders]


@pytest.mark.parametrize(
    ("type", "orders"),
    [
        (EventType.FREEZE, ["pause s0", "unpause s0"]),
        (EventType.REBOOT, ["reboot --hard --wait s0"]),
        (EventType.REDEPLOY, ["migrate --live-migration --wait s0"]),
        (EventType.PREEMPT, ["stop s0"]),
        (EventType.TERMINATE, ["delete --wait s0"]),
    ],
)
def test_openstack_commands_match_the_event_type(
    openstack: FakePlatform, type: EventType, orders: Sequence[str]
) -> None:
    openstack.add_vm("node-a", "s0")
    assert all_done(openstack.carry_out(type, "s0"))
    assert openstack.orders == orders


# --- both platforms ----------------------------------------------------------


@pytest.mark.parametrize("type", EventType)
def test_second_attempt_succeeds_when_all_was_done(
    platform: FakePlatform, type: EventType
) -> None:
    platform.add_vm("node-a", "100")
    assert all_done(platform.carry_out(type, "100"))
    assert all_done(platform.carry_out(type, "100", attempt=2))


def test_freeze_pauses_all_vms_together(platform: FakePlatform) -> None:
    for vm in ("100", "101"):
        platform.add_vm("node-a", vm)
    assert all_done(platform.carry_out(EventType.FREEZE, "100", "101"))
    words = [word for order in platform.orders for word in order.split()]
    verbs = [word for word in words if word.endswith(("pause", "suspend", "resume"))]
    assert len(set(verbs[:2])) == len(set(verbs[2:])) == 1


def test_freeze_that_takes_too_long_is_ended_and_the_vm_runs(
    platform: FakePlatform,
) -> None:
    platform.add_vm("node-a", "100")
    (platform.folder / "slow").touch()  # the resume command outlives the script
    (failure,) = platform.carry_out(
        EventType.FREEZE, "100", duration=60, timeout=6, grace=2
    )
    assert failure.detail == "took longer than 6 s"
    until(lambda: platform.state("node-a", "100") == platform.running)
    assert len(platform.orders) == 2


def test_vms_resume_if_one_cannot_be_paused(platform: FakePlatform) -> None:
    platform.add_vm("node-a", "100")
    results = platform.carry_out(EventType.FREEZE, "100", "101", duration=60)
    assert [report.failed for report in results] == [True, True]
    until(lambda: platform.state("node-a", "100") == platform.running)


def test_vm_paused_before_the_first_attempt_stays_paused(
    platform: FakePlatform,
) -> None:
    paused = {"running": "paused", "ACTIVE": "PAUSED"}[platform.running]
    platform.add_vm("node-a", "100", paused)
    assert all_done(platform.carry_out(EventType.FREEZE, "100"))
    assert platform.state("node-a", "100") == paused
    assert all_done(platform.carry_out(EventType.FREEZE, "100", attempt=2))
    assert platform.state("node-a", "100") == platform.running


@pytest.mark.parametrize("type", sorted({*EventType} - {EventType.TERMINATE}))
def test_stopped_vm_stays_stopped(platform: FakePlatform, type: EventType) -> None:
    off = {"running": "stopped", "ACTIVE": "SHUTOFF"}[platform.running]
    platform.add_vm("node-a", "100", off)
    assert all_done(platform.carry_out(type, "100"))
    assert platform.state("node-a", "100") == off


def test_redeploy_moves_vms_to_the_target_and_reports_where_they_are(
    platform: FakePlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell = write_script(platform.folder / "tell", f"echo $@ >>{platform.folder}/told")
    monkeypatch.setenv("TARGET", "node-b")
    monkeypatch.setenv("MOVED", str(tell))
    platform.add_vm("node-a", "100")
    assert all_done(platform.carry_out(EventType.REDEPLOY, "100"))
    (order,) = platform.orders
    assert "node-b" in order.split()
    assert platform.state("node-b", "100") == platform.running
    assert all_done(platform.carry_out(EventType.REDEPLOY, "100", attempt=2))
    assert (platform.folder / "told").read_text() == "web-100 node-b\n" * 2


def test_failure_shows_the_message_of_the_command_and_stops_no_other_vm(
    platform: FakePlatform,
) -> None:
    platform.add_vm("node-a", "100")
    (platform.folder / "refuse-delete").touch()
    (platform.folder / "refuse-destroy").touch()
    results = platform.carry_out(EventType.TERMINATE, "100", "101")
    assert [report.failed for report in results] == [True, False]
    assert results[0].detail.startswith('cannot "de')


def test_migration_that_leaves_the_server_where_it_was_has_failed(
    openstack: FakePlatform,
) -> None:
    openstack.add_vm("node-a", "s0")
    (openstack.folder / "stays").touch()
    (failure,) = openstack.carry_out(EventType.REDEPLOY, "s0")
    assert failure.detail.startswith("it is still on node-a")
