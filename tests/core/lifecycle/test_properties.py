"""Property tests: any history of commands keeps the lifecycle invariants.

The state machine plays the engine over one slice that holds everything. It checks the
hand-written rules of `tests.core.support.model`.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import timedelta
from functools import partial

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    initialize,
    invariant,
    precondition,
    rule,
)
from tests.core.support import model, order_model
from tests.core.support.builders import HOUR, NOON, SECOND
from tests.core.support.history import FleetStateMachine
from tests.core.support.report_model import check_report
from tests.core.support.strategies import (
    FLEET,
    VMS,
    group_names,
    host_names,
    numbers,
    orders,
    vm_names,
)

from forewarn.core.fleet import VM
from forewarn.core.lifecycle import announcements, commands, operations, transitions
from forewarn.core.lifecycle.announcements import Order
from forewarn.core.lifecycle.commands import possible_commands
from forewarn.core.lifecycle.facts import Announced, Enabled
from forewarn.core.lifecycle.model import Maintenance, Phase, Via
from forewarn.core.lifecycle.operations import VmOperation
from forewarn.core.lifecycle.policy import Rules
from forewarn.core.lifecycle.settlement import Step
from forewarn.errors import Conflict, TooLate
from forewarn.protocol.types import EventType

pytestmark = pytest.mark.slow

SPOT_VMS = [vm.name for vm in VMS if vm.spot]

#: The phase a command acts in, and the one it leaves alone; otherwise it is too late.
DOES: Mapping[str, tuple[Phase, Phase | None]] = {
    "cancel": (Phase.SCHEDULED, Phase.CANCELED),
    "complete": (Phase.STARTED, Phase.COMPLETED),
    "retry": (Phase.STARTED, None),
    "close": (Phase.STARTED, None),
}


class CommandStateMachine(FleetStateMachine):
    """A fleet, a manual clock, and arbitrary commands in any order."""

    @initialize(lead=st.integers(0, 9), microseconds=st.integers(0, 999_999))
    def begin(self, lead: int, microseconds: int) -> None:
        self.policy = Rules(lead=lead * SECOND)
        self.now = NOON + timedelta(microseconds=microseconds)
        self.change_to(FLEET)

    # --- commands ------------------------------------------------------------

    @rule(order=orders())
    def announce(self, order: Order) -> None:
        vms = self.vms_of(order)
        if not vms:
            return
        before = self.slice
        is_refused = bool(order.vms) and any(vm.deallocated for vm in vms)
        try:
            step = announcements.announce(before, self.context, order, vms)
        except Conflict:
            assert is_refused
            return
        assert not is_refused
        vms = [vm for vm in vms if not vm.deallocated]
        maintenances = [
            fact.announced for fact in step.facts if isinstance(fact, Announced)
        ]
        order_model.check_announced(
            order, maintenances, vms, before, self.now, self.memory
        )
        self.take_announced(step)

    @rule(operation=st.sampled_from(VmOperation), name=vm_names)
    def operate(self, operation: VmOperation, name: str) -> None:
        vm = self.slice.vms.get(name)
        if vm is None:
            return
        order = operations.order_for(operation, name)
        refused = (
            (operation == "evict" and not vm.spot)
            or (operation != "delete" and vm.deallocated)
            or model.is_repeated(self.slice, operation.value, name)
        )
        try:
            step = operations.operate(self.slice, self.context, operation, order, [vm])
        except Conflict:
            assert refused
            return
        assert not refused
        self.take_announced(step)

    @rule(names=st.lists(vm_names, max_size=3, unique=True))
    def start(self, names: list[str]) -> None:
        vms = [self.slice.vms[name] for name in names if name in self.slice.vms]
        step = operations.start(self.slice, self.context, vms)
        assert not any(step.slice.vms[vm.name].deallocated for vm in vms)
        self.take(step)

    @rule(
        host=host_names,
        what=st.sampled_from([operations.degrade, operations.fail, operations.recover]),
        hours=st.none() | st.integers(0, 200),
    )
    def change_host(
        self, host: str, what: Callable[..., Step], hours: int | None
    ) -> None:
        vms = [vm for vm in self.slice.vms.values() if vm.host == host]
        order = operations.order_for_host(host)
        if what is operations.degrade:
            fails_by = None if hours is None else self.now + hours * HOUR
            what = partial(operations.degrade, fails_by=fails_by)
        before = self.slice
        step = what(before, self.context, order, vms)
        order_model.check_host_failure(
            before, step.slice, host, what is operations.fail
        )
        self.take_announced(step)

    @rule(name=vm_names, ends=st.booleans())
    def redeploy_from_a_degraded_host(self, name: str, ends: bool) -> None:
        """Approve everything that moves one VM, which random rules rarely do."""
        vm = self.slice.vms.get(name)
        if vm is None or vm.host is None:
            return
        self.change_host(vm.host, operations.degrade, 100)
        self.operate(VmOperation.REDEPLOY, name)
        listing = [item for item in self.slice.live_in(vm.group) if name in item.vms]
        self.approve_events([event.id for item in listing for event in item.events])
        for item in listing:
            current = self.slice.maintenance(item.id)
            if ends and commands.is_work_open(current, self.now, self.policy):
                self.report(current, current.to_do, fails=False)
        self.wait(7 * SECOND)
        self.tick()

    @rule(name=st.sampled_from(SPOT_VMS), deletes=st.booleans())
    def evict_to_the_end(self, name: str, deletes: bool) -> None:
        """Evict one VM, possibly while it is deleted, which random rules rarely do."""
        vm = self.slice.vms.get(name)
        if vm is None or vm.deallocated or not vm.spot:
            return
        self.operate(VmOperation.EVICT, name)
        if deletes:
            self.operate(VmOperation.DELETE, name)
        preempts = [
            item
            for item in self.slice.live_in(vm.group)
            if name in item.vms and item.type is EventType.PREEMPT
        ]
        self.approve_events([event.id for item in preempts for event in item.events])
        self.wait(11 * SECOND)  # longer than any lead
        for item in preempts:
            if commands.is_work_open(item, self.now, self.policy):
                self.report(item, item.to_do, fails=False)
        self.tick()

    def take_announced(self, step: Step) -> None:
        maintenances = [
            fact.announced for fact in step.facts if isinstance(fact, Announced)
        ]
        self.memory.announced |= {
            maintenance.id: self.memory.there for maintenance in maintenances
        }
        self.take(step)

    def vms_of(self, order: Order) -> list[VM]:
        return [
            vm
            for vm in self.slice.vms.values()
            if vm.name in order.vms
            or vm.group == order.group
            or (vm.host == order.host and order.host is not None)
        ]

    @precondition(FleetStateMachine.has_maintenances)
    @rule(number=numbers, part=st.slices(3))
    def approve(self, number: int, part: slice) -> None:
        ids = [event.id for event in self.pick(number).events[part]]
        self.approve_events(ids)

    @rule(group=group_names, part=st.slices(5))
    def approve_what_a_group_sees(self, group: str, part: slice) -> None:
        live = self.slice.live_in(group)
        self.approve_events(
            [event.id for maintenance in live[part] for event in maintenance.events]
        )

    def approve_events(self, ids: list[str]) -> None:
        for maintenance in self.slice.maintenances.values():
            if maintenance.phase is Phase.SCHEDULED:
                self.remember_approvals(maintenance, ids)
        self.take(commands.approve(self.slice, self.context, ids, via=Via.METADATA))

    def remember_approvals(self, maintenance: Maintenance, ids: list[str]) -> None:
        for event in maintenance.events:
            if event.id in ids and event.id not in self.memory.approved:
                self.memory.approved.add(event.id)
                self.memory.waits_for[maintenance.id] = {
                    other.id
                    for other in self.slice.live_in(event.group)
                    if other.type is EventType.TERMINATE
                    and other.phase is Phase.SCHEDULED
                    and other.events[0].id not in self.memory.approved
                }

    @precondition(FleetStateMachine.has_maintenances)
    @rule(number=numbers, what=st.sampled_from(sorted(DOES)))
    def command(self, number: int, what: str) -> None:
        maintenance = self.pick(number)
        acts_in, leaves_alone = DOES[what]
        possible = maintenance.phase in (acts_in, leaves_alone)
        if what in ("retry", "close"):
            possible = possible and maintenance.stuck_since is not None
        try:
            step = self.commanded(what, maintenance.id)
        except TooLate:
            assert not possible
            return
        assert possible
        if maintenance.phase is leaves_alone:
            assert step.slice.maintenance(maintenance.id) == maintenance
        self.take(step)

    def commanded(self, what: str, maintenance_id: str) -> Step:
        if what == "approve":
            ids = [event.id for event in self.slice.maintenance(maintenance_id).events]
            return commands.approve(self.slice, self.context, ids, via=Via.CONTROL)
        command: Callable[..., Step] = getattr(commands, what)
        reason = {"reason": None} if what in ("cancel", "close") else {}
        return command(self.slice, self.context, maintenance_id, **reason)

    @precondition(FleetStateMachine.has_maintenances)
    @rule(number=numbers)
    def check_available_commands(self, number: int) -> None:
        """Check that exactly the available commands have an effect."""
        maintenance = self.pick(number)
        idle = commands.tick(self.slice, self.context)
        for what in ("approve", *DOES):
            try:
                step = self.commanded(what, maintenance.id)
            except TooLate:
                assert what not in possible_commands(maintenance)
                continue
            assert (step != idle) == (what in possible_commands(maintenance))

    @precondition(FleetStateMachine.has_maintenances)
    @rule(number=numbers, part=st.integers(1, 3), fails=st.booleans())
    def work(self, number: int, part: int, fails: bool) -> None:
        maintenance = self.pick(number)
        is_open = commands.is_work_open(maintenance, self.now, self.policy)
        step = commands.begin_work(self.slice, self.context, maintenance.id)
        self.take(step)
        if is_open:
            self.report(maintenance, maintenance.to_do[:part], fails)

    def report(self, one: Maintenance, vms: tuple[str, ...], fails: bool) -> None:
        self.take(
            commands.report_work(
                self.slice, self.context, one.id, vms=vms, failed=fails
            )
        )

    @rule(groups=st.lists(group_names, max_size=2, unique=True))
    def listen(self, groups: list[str]) -> None:
        groups = [name for name in groups if name in self.slice.groups]
        silent = [
            name for name in groups if self.memory.is_disabled(self.slice.groups[name])
        ]
        step = commands.listen(self.slice, self.context, groups)
        began = [fact.group for fact in step.facts if isinstance(fact, Enabled)]
        assert began == silent
        self.memory.last_polls |= dict.fromkeys(silent, self.memory.there)
        self.take(step)

    @rule(group=group_names)
    def poll(self, group: str) -> None:
        """Record a poll by an enabled group; this is not a command."""
        current = self.slice.groups.get(group)
        if current is not None and not self.memory.is_disabled(current):
            self.memory.last_polls[group] = self.memory.there
            updated = replace(current, last_request=self.now)
            groups = {**self.slice.groups, group: updated}
            self.slice = replace(self.slice, groups=groups)

    # --- invariants ----------------------------------------------------------

    @invariant()
    def state_keeps_the_rules(self) -> None:
        model.check_state(self.slice)
        model.check_audiences(self.slice)
        model.check_withdrawn(self.slice, self.memory)
        model.check_degraded(self.slice)
        model.check_deallocated(self.slice)

    def teardown(self) -> None:
        """Run the clock and the driver until everything has ended."""
        if not self.is_sound:
            return
        for _ in range(10 * len(self.slice.maintenances) + 10):
            self.tick()
            if not any(
                maintenance.phase.is_live
                for maintenance in self.slice.maintenances.values()
            ):
                break
            self.next_moment()
            self.do_all_work()
        phases = {maintenance.phase for maintenance in self.slice.maintenances.values()}
        assert phases <= {Phase.COMPLETED, Phase.CANCELED, Phase.FAILED}
        assert model.same_state(transitions.replay(self.facts), self.slice)
        check_report(self.slice, self.facts, NOON, self.now + SECOND)

    def do_all_work(self) -> None:
        for name in [*self.slice.maintenances]:
            maintenance = self.slice.maintenance(name)  # may have changed in this loop
            if (
                maintenance.phase is Phase.STARTED
                and maintenance.cause == "host-failure"
            ):
                self.take(self.commanded("complete", name))
            maintenance = self.slice.maintenance(name)
            if (
                maintenance.phase is Phase.STARTED
                and maintenance.stuck_since is not None
            ):
                self.take(self.commanded("retry", name))
            maintenance = self.slice.maintenance(name)
            if commands.is_work_open(maintenance, self.now, self.policy):
                self.report(maintenance, maintenance.to_do, fails=False)


TestAnyHistory = CommandStateMachine.TestCase
TestAnyHistory.settings = settings(
    max_examples=200,
    stateful_step_count=30,
    deadline=None,
    print_blob=True,
    derandomize=False,
)
