"""VMs that leave a degraded host: each audience on its own, by approval or redeploy."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from tests.core.support.builders import (
    MINUTE,
    NOON,
    SECOND,
    a_context,
    a_group,
    a_maintenance,
    a_slice,
    a_vm,
    an_event,
    counting,
)

from forewarn.core.fleet import VM, Enabling, Fleet
from forewarn.core.lifecycle import (
    announcements,
    commands,
    fleet_changes,
    operations,
    policy,
)
from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.model import Cause, Maintenance, Phase, Via
from forewarn.core.lifecycle.operations import VmOperation
from forewarn.core.lifecycle.settlement import Context, Step
from forewarn.protocol.types import EventType

DAY = timedelta(days=1)

#: Group web has two update domains on host-a; db and lone have a VM each there.
WEB_0 = a_vm("web-0", group="web", host="host-a")
WEB_1 = a_vm("web-1", group="web", host="host-a", update_domain=1)
DB_0 = a_vm("db-0", group="db", host="host-a")
LONE = a_vm("lone", group="lone", host="host-a", update_domain=None)
VMS = (WEB_0, WEB_1, DB_0, LONE)


class DegradedHost:
    """A slice of host-a and a clock; commands are applied to it one after another."""

    def __init__(
        self, vms: Sequence[VM] = VMS, *, isolated: bool = False, enabled: bool = True
    ) -> None:
        setting = Enabling.ALWAYS if enabled else Enabling.ON_DEMAND
        names = dict.fromkeys(vm.group for vm in vms)
        groups = [a_group(name, isolated=isolated, enabled=setting) for name in names]
        self.slice = a_slice(groups=groups, vms=vms)
        self.now = NOON
        self._new_id = counting()

    @property
    def context(self) -> Context:
        return a_context(self.now, new_id=self._new_id)

    def take(self, step: Step) -> Step:
        self.slice = step.slice
        return step

    def run(self, command: Callable[..., Step], **options: object) -> Step:
        """Run a command for host-a."""
        vms = [vm for vm in self.slice.vms.values() if vm.host == "host-a"]
        order = operations.order_for_host("host-a")
        return self.take(command(self.slice, self.context, order, vms, **options))

    def degrade(self, fails_by: datetime | None = None) -> Step:
        return self.run(operations.degrade, fails_by=fails_by)

    def redeploy(self, vm: str) -> Maintenance:
        """Have a user redeploy `vm`."""
        kind = VmOperation.REDEPLOY
        order, vms = operations.order_for(kind, vm), [self.slice.vms[vm]]
        step = operations.operate(self.slice, self.context, kind, order, vms)
        (maintenance,) = announced(self.take(step))
        return maintenance

    def of(self, vm: str, *, phase: Phase | None = None) -> Maintenance:
        """Return the latest degraded maintenance of `vm`, of that phase if given."""
        return [
            item
            for item in self.slice.maintenances.values()
            if item.cause is Cause.DEGRADED
            and vm in item.vms
            and phase in (None, item.phase)
        ][-1]

    def phases(self) -> dict[str, Phase]:
        return {vm.name: self.of(vm.name).phase for vm in VMS}

    def approve(self, *maintenances: Maintenance) -> Step:
        ids = [event.id for item in maintenances for event in item.events]
        return self.take(
            commands.approve(self.slice, self.context, ids, via=Via.METADATA)
        )

    def work(self, maintenance: Maintenance) -> Step:
        """Do the work of a started maintenance, and wait until it is over."""
        vms = self.slice.maintenance(maintenance.id).to_do
        self.take(
            commands.report_work(self.slice, self.context, maintenance.id, vms=vms)
        )
        return self.wait(MINUTE)

    def wait(self, time: timedelta) -> Step:
        self.now += time
        return self.take(commands.tick(self.slice, self.context))

    def put(self, vm: VM) -> Step:
        """Report `vm` to the fleet."""
        slice_ = self.slice
        current = Fleet(hosts=slice_.hosts, groups=slice_.groups, vms=slice_.vms)
        desired = replace(current, vms={**slice_.vms, vm.name: vm})
        changes = fleet_changes.difference(current, desired)
        return self.take(fleet_changes.change(slice_, self.context, changes))

    def host_of(self, vm: str) -> str | None:
        return self.slice.vms[vm].host


def announced(step: Step) -> list[Maintenance]:
    return [
        step.slice.maintenance(fact.maintenance)
        for fact in step.facts
        if isinstance(fact, f.Announced)
    ]


@pytest.fixture
def host() -> DegradedHost:
    """Return a host that has been reported as degraded."""
    host = DegradedHost()
    host.degrade()
    return host


# --- one act for each audience -----------------------------------------------


def test_each_group_and_update_domain_leaves_on_its_own() -> None:
    maintenances = announced(DegradedHost().degrade())
    assert [item.vms for item in maintenances] == [
        ("db-0",),
        ("lone",),
        ("web-0",),
        ("web-1",),
    ]
    assert {item.host for item in maintenances} == {"host-a"}


def test_vms_of_an_update_domain_leave_together() -> None:
    together = replace(WEB_1, update_domain=0)
    (maintenance,) = announced(DegradedHost([WEB_0, together]).degrade())
    assert maintenance.vms == ("web-0", "web-1")


def test_vms_of_an_isolated_group_leave_on_their_own() -> None:
    pair = [WEB_0, replace(WEB_1, update_domain=0)]
    host = DegradedHost(pair, isolated=True)
    maintenances = announced(host.degrade())
    assert [item.vms for item in maintenances] == [("web-0",), ("web-1",)]
    host.approve(*maintenances)
    assert {host.of(vm.name).phase for vm in pair} == {Phase.STARTED}


def test_an_approval_does_not_wait_for_other_groups(host: DegradedHost) -> None:
    host.approve(host.of("db-0"))
    assert host.phases() == {
        "db-0": Phase.STARTED,
        "lone": Phase.SCHEDULED,
        "web-0": Phase.SCHEDULED,
        "web-1": Phase.SCHEDULED,
    }


def test_two_update_domains_of_a_group_leave_one_after_the_other(
    host: DegradedHost,
) -> None:
    host.approve(host.of("web-0"), host.of("web-1"))
    assert host.of("web-0").phase is Phase.STARTED
    assert host.of("web-1").phase is Phase.SCHEDULED
    host.work(host.of("web-0"))
    assert host.of("web-1").phase is Phase.STARTED


def test_a_host_is_empty_when_all_have_left(host: DegradedHost) -> None:
    host.wait(7 * DAY)
    for vm in VMS:
        assert host.host_of(vm.name) == "host-a"
        host.work(host.of(vm.name))
        assert host.of(vm.name).phase is Phase.COMPLETED
        assert host.host_of(vm.name) is None
    assert host.degrade().facts == ()


def test_a_reported_host_is_kept_when_the_redeploy_completes(
    host: DegradedHost,
) -> None:
    host.approve(host.of("db-0"))
    host.put(replace(DB_0, host="host-b"))
    host.work(host.of("db-0"))
    assert host.host_of("db-0") == "host-b"


# --- redeploys by users ------------------------------------------------------


def test_a_completed_user_redeploy_withdraws_the_event(host: DegradedHost) -> None:
    redeploy = host.redeploy("web-0")
    host.approve(redeploy)
    assert host.of("web-0").phase is Phase.SCHEDULED
    step = host.work(redeploy)
    assert host.of("web-0").phase is Phase.CANCELED
    assert host.of("web-0").left == ("web-0",)
    assert host.host_of("web-0") is None
    kinds = [type(fact).__name__ for fact in step.facts]
    assert kinds == [
        "Completed",
        "FleetChanged",
        "VmsLeft",
        "Withdrawn",
        "Canceled",
        "Published",
    ]
    assert {host.of(vm.name).phase for vm in VMS[1:]} == {Phase.SCHEDULED}


def test_a_user_redeploy_of_one_vm_leaves_the_others_of_its_event() -> None:
    host = DegradedHost([WEB_0, replace(WEB_1, update_domain=0)])
    host.degrade()
    redeploy = host.redeploy("web-0")
    host.approve(redeploy)
    host.work(redeploy)
    maintenance = host.of("web-1")
    assert (maintenance.phase, maintenance.to_do) == (Phase.SCHEDULED, ("web-1",))


def test_a_redeploy_by_the_platform_empties_the_host_as_well(
    host: DegradedHost,
) -> None:
    order = announcements.Order(type=EventType.REDEPLOY, vms=("db-0",))
    step = host.take(announcements.announce(host.slice, host.context, order, [DB_0]))
    (redeploy,) = announced(step)
    host.approve(redeploy)
    host.work(redeploy)
    assert host.of("db-0").phase is Phase.CANCELED


@pytest.mark.parametrize(
    "operation", [VmOperation.RESTART, VmOperation.REIMAGE], ids=lambda item: item.value
)
def test_other_user_operations_leave_the_vm_on_its_host(
    operation: VmOperation,
) -> None:
    host = DegradedHost(enabled=False)
    host.degrade()
    order = operations.order_for(operation, "db-0")
    step = operations.operate(host.slice, host.context, operation, order, [DB_0])
    (maintenance,) = announced(host.take(step))
    host.work(maintenance)
    assert host.slice.maintenance(maintenance.id).phase is Phase.COMPLETED
    assert host.of("db-0").phase is Phase.SCHEDULED
    assert host.host_of("db-0") == "host-a"


def test_a_redeploy_given_up_leaves_the_vm_on_its_host(host: DegradedHost) -> None:
    redeploy = host.redeploy("db-0")
    host.approve(redeploy)
    step = commands.report_work(
        host.slice, host.context, redeploy.id, vms=["db-0"], failed=True
    )
    host.take(step)
    host.take(commands.close(host.slice, host.context, redeploy.id, reason=None))
    assert host.of("db-0").phase is Phase.SCHEDULED
    assert host.host_of("db-0") == "host-a"


def test_a_redeploy_from_a_healthy_host_keeps_the_host() -> None:
    host = DegradedHost(enabled=False)
    host.work(host.redeploy("db-0"))
    assert host.host_of("db-0") == "host-a"


def test_a_redeploy_that_ran_before_the_report_does_not_withdraw_the_event() -> None:
    """The VM may have come to the host with it."""
    host = DegradedHost(enabled=False)
    redeploy = host.redeploy("db-0")
    host.now += SECOND
    host.degrade()
    host.work(redeploy)
    assert host.slice.maintenance(redeploy.id).phase is Phase.COMPLETED
    assert host.of("db-0").phase is Phase.SCHEDULED
    assert host.host_of("db-0") == "host-a"


# --- both at the same time ---------------------------------------------------


@pytest.mark.parametrize("vm", ["db-0", "lone"], ids=["update domain", "none"])
def test_an_approved_event_waits_for_a_running_user_redeploy(
    host: DegradedHost, vm: str
) -> None:
    redeploy = host.redeploy(vm)
    host.approve(redeploy)
    host.approve(host.of(vm))
    assert host.of(vm).phase is Phase.SCHEDULED
    blockers = policy.blockers(host.slice, host.of(vm), host.now)
    assert [item.held_by and item.held_by.id for item in blockers] == [redeploy.id]
    host.work(redeploy)
    assert host.of(vm).phase is Phase.CANCELED


def test_an_approved_event_starts_when_the_user_redeploy_is_given_up(
    host: DegradedHost,
) -> None:
    redeploy = host.redeploy("db-0")
    host.approve(redeploy)
    host.approve(host.of("db-0"))
    host.take(
        commands.report_work(
            host.slice, host.context, redeploy.id, vms=["db-0"], failed=True
        )
    )
    host.take(commands.close(host.slice, host.context, redeploy.id, reason=None))
    assert host.of("db-0").phase is Phase.STARTED


def test_a_user_redeploy_waits_while_the_vm_leaves_a_degraded_host(
    host: DegradedHost,
) -> None:
    host.approve(host.of("db-0"))
    redeploy = host.redeploy("db-0")
    host.approve(redeploy)
    assert host.slice.maintenance(redeploy.id).phase is Phase.SCHEDULED
    host.work(host.of("db-0"))
    assert host.slice.maintenance(redeploy.id).phase is Phase.STARTED


# --- reported again ----------------------------------------------------------


def test_a_vm_that_came_meanwhile_gets_an_event_for_the_earlier_prediction() -> None:
    host = DegradedHost()
    host.degrade(NOON + 3 * DAY)
    host.put(a_vm("db-1", group="db", host="host-a", update_domain=1))
    (maintenance,) = announced(host.degrade())
    assert maintenance.vms == ("db-1",)
    assert maintenance.not_before == NOON + 3 * DAY


def test_a_vm_that_comes_late_gets_its_minimum_notice() -> None:
    host = DegradedHost()
    host.degrade(NOON + 15 * MINUTE)
    host.now += 10 * MINUTE
    host.put(a_vm("db-1", group="db", host="host-a", update_domain=1))
    (maintenance,) = announced(host.degrade())
    assert maintenance.not_before == host.now + 10 * MINUTE


def test_a_worse_prediction_leaves_alone_what_has_started(host: DegradedHost) -> None:
    host.approve(host.of("db-0"))
    step = host.degrade(NOON + DAY)
    assert [item.vms for item in announced(step)] == [("lone",), ("web-0",), ("web-1",)]
    assert host.of("db-0").phase is Phase.STARTED


def test_a_failure_replaces_what_has_not_started(host: DegradedHost) -> None:
    host.approve(host.of("db-0"))
    (failure,) = announced(host.run(operations.fail))
    assert failure.vms == ("lone", "web-0", "web-1")
    assert set(host.phases().values()) == {Phase.STARTED, Phase.CANCELED}


def test_recovery_cancels_what_has_not_started(host: DegradedHost) -> None:
    host.approve(host.of("db-0"))
    host.run(operations.recover)
    assert host.phases() == {
        "db-0": Phase.STARTED,
        "lone": Phase.CANCELED,
        "web-0": Phase.CANCELED,
        "web-1": Phase.CANCELED,
    }


# --- a maintenance of the whole host, as earlier versions announced it --------


def all_at_once(host: DegradedHost) -> Maintenance:
    """Add one maintenance with an event for each group."""
    maintenance = a_maintenance(
        "old",
        type_=EventType.REDEPLOY,
        cause=Cause.DEGRADED,
        host="host-a",
        not_before=NOON + 7 * DAY,
        events=[
            an_event("e-web", group="web", resources=("web-0",)),
            an_event("e-web-1", group="web", resources=("web-1",), update_domain=1),
            an_event("e-db", group="db", resources=("db-0",)),
            an_event("e-lone", group="lone", resources=("lone",), update_domain=None),
        ],
    )
    host.slice = host.slice.with_maintenance(maintenance)
    return maintenance


def test_an_earlier_maintenance_of_the_whole_host_still_starts_as_one() -> None:
    host = DegradedHost()
    old = all_at_once(host)
    host.take(commands.approve(host.slice, host.context, ["e-db"], via=Via.METADATA))
    assert host.of("db-0").phase is Phase.SCHEDULED
    assert host.degrade().facts == ()
    host.approve(old)
    assert host.of("db-0").phase is Phase.STARTED
    host.work(old)
    assert host.of("db-0").phase is Phase.COMPLETED


def test_an_earlier_maintenance_of_the_whole_host_loses_redeployed_vms() -> None:
    host = DegradedHost()
    old = all_at_once(host)
    redeploy = host.redeploy("db-0")
    host.approve(redeploy)
    host.work(redeploy)
    assert host.slice.maintenance(old.id).groups == ("web", "lone")


def test_a_worse_prediction_splits_an_earlier_maintenance_of_the_whole_host() -> None:
    host = DegradedHost()
    old = all_at_once(host)
    assert len(announced(host.degrade(NOON + DAY))) == len(VMS)
    assert host.slice.maintenance(old.id).phase is Phase.CANCELED
