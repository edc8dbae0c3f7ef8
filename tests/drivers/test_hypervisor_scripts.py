"""Example scripts for libvirt, Proxmox and OpenStack, run with fake commands.

A fake command logs its arguments and keeps the state of each VM in a file named after
the host and the VM. tests/programs/test_libvirt.py runs the first with real VMs.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest
from tests.drivers.scripts import a_work, all_done, reports, write_script
from tests.end_to_end.program import until
from tests.patience import PATIENCE
from tests.programs.installed import needs

from forewarn.core.fleet import VM
from forewarn.drivers.script import ScriptDriver
from forewarn.ports import Report
from forewarn.protocol.types import EventType

SCRIPTS = Path(__file__).parents[2] / "examples" / "scripts"

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
test $1 != resume || test ! -e slow || sleep 4
test -e $host.$2 || {{ echo "error: failed to get domain '$2'" >&2; exit 1; }}
case $1 in
    suspend) echo paused >$host.$2 ;;
    resume | reset | start) echo running >$host.$2 ;;
    destroy) echo shut off >$host.$2 ;;
    undefine) rm $host.$2 ;;
esac
"""

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
    running: str  # the states of a VM, as this platform names them
    paused: str
    off: str

    def add_vm(self, vm: str, state: str | None = None) -> None:
        """Put `vm` on node-a, running or in another `state`."""
        (self.folder / f"node-a.{vm}").write_text((state or self.running) + "\n")

    def state(self, vm: str, host: str = "node-a") -> str | None:
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
            VM(name=vm, group="web", host="node-a", tags={"vmid": vm}, vm_id=vm)
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
def libvirt(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> FakePlatform:
    for host in ("node-a", "node-b"):
        (tmp_path / host).touch()
    monkeypatch.setenv("URI", "HOST")
    monkeypatch.setenv("SHUTDOWN", "0")
    write_script(tmp_path / "virsh", VIRSH.format(folder=tmp_path))
    return FakePlatform(
        script=SCRIPTS / "maintain-libvirt.sh",
        folder=tmp_path,
        running="running",
        paused="paused",
        off="shut off",
    )


@pytest.fixture
def proxmox(tmp_path: Path) -> FakePlatform:
    write_script(tmp_path / "ssh", SSH.format(folder=tmp_path))
    return FakePlatform(
        script=SCRIPTS / "maintain-proxmox.py",
        folder=tmp_path,
        running="running",
        paused="paused",
        off="stopped",
    )


@pytest.fixture
def openstack(tmp_path: Path) -> FakePlatform:
    write_script(tmp_path / "openstack", OPENSTACK.format(folder=tmp_path))
    return FakePlatform(
        script=SCRIPTS / "maintain-openstack.py",
        folder=tmp_path,
        running="ACTIVE",
        paused="PAUSED",
        off="SHUTOFF",
    )


PLATFORMS = [
    pytest.param("libvirt", marks=needs("jq", "setsid")),
    "proxmox",
    "openstack",
]


@pytest.fixture(params=PLATFORMS)
def platform(
    request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> FakePlatform:
    """Run the test with every platform."""
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    platform = request.getfixturevalue(request.param)
    assert isinstance(platform, FakePlatform)
    return platform


only = partial(pytest.mark.parametrize, "platform", indirect=True)


# --- arguments of the commands -----------------------------------------------

ORDERS = {
    ("libvirt", EventType.FREEZE): ["suspend 100", "resume 100"],
    ("libvirt", EventType.REBOOT): ["reset 100"],
    ("libvirt", EventType.REDEPLOY): ["destroy 100", "start 100"],
    ("libvirt", EventType.PREEMPT): ["shutdown 100", "destroy 100"],
    ("libvirt", EventType.TERMINATE): ["destroy 100", "undefine 100"],
    ("proxmox", EventType.FREEZE): ["suspend 100", "resume 100"],
    ("proxmox", EventType.REBOOT): ["reset 100"],
    ("proxmox", EventType.REDEPLOY): ["stop 100", "start 100"],
    ("proxmox", EventType.PREEMPT): ["shutdown 100 --timeout 60 --forceStop 1"],
    ("proxmox", EventType.TERMINATE): ["stop 100", "destroy 100 --purge 1"],
    ("openstack", EventType.FREEZE): ["pause 100", "unpause 100"],
    ("openstack", EventType.REBOOT): ["reboot --hard --wait 100"],
    ("openstack", EventType.REDEPLOY): ["migrate --live-migration --wait 100"],
    ("openstack", EventType.PREEMPT): ["stop 100"],
    ("openstack", EventType.TERMINATE): ["delete --wait 100"],
}


@pytest.mark.parametrize("type", EventType)
def test_commands_match_the_event_type_and_may_be_repeated(
    platform: FakePlatform, type: EventType
) -> None:
    name = platform.script.stem.removeprefix("maintain-")
    prefix = "node-a: qm " if name == "proxmox" else ""
    platform.add_vm("100")
    assert all_done(platform.carry_out(type, "100"))
    assert platform.orders == [f"{prefix}{order}" for order in ORDERS[name, type]]
    ends = {EventType.PREEMPT: platform.off, EventType.TERMINATE: None}
    state = ends.get(type, platform.running)
    moved = (name, type) == ("openstack", EventType.REDEPLOY)
    host = "node-b" if moved else "node-a"
    assert platform.state("100", host) == state
    assert all_done(platform.carry_out(type, "100", attempt=2))
    assert platform.state("100", host) == state


# --- all platforms -----------------------------------------------------------


def test_freeze_pauses_all_vms_together(platform: FakePlatform) -> None:
    for vm in ("100", "101"):
        platform.add_vm(vm)
    assert all_done(platform.carry_out(EventType.FREEZE, "100", "101"))
    words = [word for order in platform.orders for word in order.split()]
    verbs = [word for word in words if word.endswith(("pause", "suspend", "resume"))]
    assert len(set(verbs[:2])) == len(set(verbs[2:])) == 1


def test_freeze_that_takes_too_long_is_ended_and_the_vm_runs(
    platform: FakePlatform,
) -> None:
    platform.add_vm("100")
    (platform.folder / "slow").touch()  # the resume command outlives the script
    (failure,) = platform.carry_out(
        EventType.FREEZE, "100", duration=60, timeout=6, grace=2
    )
    assert failure.detail == "took longer than 6 s"
    until(lambda: platform.state("100") == platform.running)
    assert len(platform.orders) == 2


def test_vm_paused_before_the_first_attempt_stays_paused(
    platform: FakePlatform,
) -> None:
    platform.add_vm("100", platform.paused)
    assert all_done(platform.carry_out(EventType.FREEZE, "100"))
    assert platform.state("100") == platform.paused
    assert all_done(platform.carry_out(EventType.FREEZE, "100", attempt=2))
    assert platform.state("100") == platform.running


@pytest.mark.parametrize("type", sorted({*EventType} - {EventType.TERMINATE}))
def test_stopped_vm_stays_stopped(platform: FakePlatform, type: EventType) -> None:
    platform.add_vm("100", platform.off)
    assert all_done(platform.carry_out(type, "100"))
    assert platform.state("100") == platform.off


def test_redeploy_moves_vms_to_the_target_and_reports_where_they_are(
    platform: FakePlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    tell = write_script(platform.folder / "tell", f"echo $@ >>{platform.folder}/told")
    monkeypatch.setenv("TARGET", "node-b")
    monkeypatch.setenv("MOVED", str(tell))
    platform.add_vm("100")
    assert all_done(platform.carry_out(EventType.REDEPLOY, "100"))
    (order,) = platform.orders
    assert "node-b" in order.split()
    assert platform.state("100", "node-b") == platform.running
    assert all_done(platform.carry_out(EventType.REDEPLOY, "100", attempt=2))
    assert (platform.folder / "told").read_text() == "100 node-b\n" * 2


# --- single platforms --------------------------------------------------------


@only(["proxmox", "openstack"])
def test_vms_resume_if_one_cannot_be_paused(platform: FakePlatform) -> None:
    platform.add_vm("100")
    results = platform.carry_out(EventType.FREEZE, "100", "101", duration=60)
    assert [report.failed for report in results] == [True, True]
    until(lambda: platform.state("100") == platform.running)


@only(["proxmox", "openstack"])
def test_failure_shows_the_message_of_the_command_and_stops_no_other_vm(
    platform: FakePlatform,
) -> None:
    platform.add_vm("100")
    (platform.folder / "refuse-delete").touch()
    (platform.folder / "refuse-destroy").touch()
    results = platform.carry_out(EventType.TERMINATE, "100", "101")
    assert [report.failed for report in results] == [True, False]
    assert results[0].detail.startswith('cannot "de')


@only(["openstack"])
def test_migration_that_leaves_the_server_where_it_was_has_failed(
    platform: FakePlatform,
) -> None:
    platform.add_vm("100")
    (platform.folder / "stays").touch()
    (failure,) = platform.carry_out(EventType.REDEPLOY, "100")
    assert failure.detail.startswith("still on node-a")


@only(PLATFORMS[:1])
def test_libvirt_vm_stopped_by_the_first_redeploy_is_started_by_the_second(
    platform: FakePlatform,
) -> None:
    platform.add_vm("100", platform.off)
    assert all_done(platform.carry_out(EventType.REDEPLOY, "100", attempt=2))
    assert platform.state("100") == platform.running


@only(PLATFORMS[:1])
def test_stopped_libvirt_vm_is_moved_without_live_migration(
    platform: FakePlatform, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TARGET", "node-b")
    platform.add_vm("100", platform.off)
    assert all_done(platform.carry_out(EventType.REDEPLOY, "100"))
    assert platform.orders == ["migrate --offline 100 node-b"]


@only(PLATFORMS[:1])
@pytest.mark.parametrize("type", [EventType.FREEZE, EventType.REBOOT])
def test_failure_shows_the_message_of_virsh_and_stops_no_other_vm(
    platform: FakePlatform, type: EventType
) -> None:
    platform.add_vm("100")
    by_vm = {report.vm: report for report in platform.carry_out(type, "lost", "100")}
    assert by_vm["lost"].detail == "error: failed to get domain 'lost'"
    assert [report.failed for report in by_vm.values()] == [True, False]


@only(PLATFORMS[:1])
@pytest.mark.parametrize("type", [EventType.FREEZE, EventType.REBOOT])
def test_unreachable_libvirt_host_is_a_failure(
    platform: FakePlatform, type: EventType
) -> None:
    platform.add_vm("100")
    (platform.folder / "node-a").unlink()
    (failure,) = platform.carry_out(type, "100")
    assert failure.failed
    assert "cannot connect to node-a" in failure.detail
