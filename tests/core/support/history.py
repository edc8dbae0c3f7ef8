"""Stateful test machine: one fleet and one clock, without operator commands.

Its rules change the fleet or move time on. `tests.core.lifecycle.test_properties` adds
the commands. `tests.core.support.model` checks every step.
"""

from dataclasses import replace
from datetime import datetime, timedelta

from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    rule,
)
from tests.core.support import model
from tests.core.support.builders import HOUR, MINUTE, NOON, SECOND, a_context, counting
from tests.core.support.strategies import FLEET, VMS, group_names, host_names, vm_names

from forewarn.core.fleet import VM, Fleet
from forewarn.core.lifecycle import commands, fleet_changes, transitions
from forewarn.core.lifecycle.facts import Fact, FleetChanged, OutageEnded
from forewarn.core.lifecycle.model import Maintenance, Phase, Slice
from forewarn.core.lifecycle.policy import Rules, next_moment
from forewarn.core.lifecycle.settlement import Context, Step
from forewarn.core.outages import Outage
from forewarn.errors import InUse


class FleetStateMachine(RuleBasedStateMachine):
    """A slice that holds the whole fleet, and the facts that led to it."""

    def __init__(self) -> None:
        super().__init__()
        self.now = NOON
        self.policy = Rules()
        self.slice = Slice()
        self.replayed = Slice()
        self.facts: list[Fact] = []
        self.memory = model.CommandHistory()
        self.new_id = counting()
        self.is_sound = True

    @property
    def context(self) -> Context:
        return a_context(self.now, rules=self.policy, new_id=self.new_id)

    def take(self, step: Step) -> None:
        """Check a step against the model, then apply it."""
        self.is_sound = False
        for fact in step.facts:
            if isinstance(fact, FleetChanged):
                vms = self.replayed.vms
                left = tuple(vms[vm].group for vm in fact.removed_vms)
                assert fact.removed_from == left
            if isinstance(fact, FleetChanged) and fact.by is None:
                self.remember_deleted(fact)
                self.remember_moved(fact)
            self.replayed = transitions.apply(self.replayed, fact)
        model.check_step(self.slice, step, self.now, self.memory)
        assert model.same_state(self.replayed, step.slice)
        self.facts += step.facts
        self.slice = step.slice
        self.is_sound = True

    def remember_deleted(self, fact: FleetChanged) -> None:
        """Record the VMs and groups that the service removed or deallocated."""
        for changed in (vm for vm in fact.vms if vm.deallocated):
            assert any(
                maintenance.phase is Phase.COMPLETED
                and maintenance.deallocates
                and changed.name in maintenance.vms
                for maintenance in self.replayed.maintenances.values()
            )
            self.memory.deallocate(self.replayed, changed.name)
        for vm in fact.removed_vms:
            maintenances = self.replayed.maintenances.values()
            assert any(
                maintenance.phase is Phase.COMPLETED
                and maintenance.removes
                and vm in maintenance.vms
                for maintenance in maintenances
            )
            self.memory.leave(self.replayed, vm)
        for group in fact.removed_groups:
            assert not self.replayed.groups[group].declared
            self.memory.last_polls.pop(group, None)

    def remember_moved(self, fact: FleetChanged) -> None:
        """Record the VMs that a completed redeploy took off a degraded host."""
        for vm in (vm for vm in fact.vms if not vm.deallocated):
            host = self.replayed.vms[vm.name].host
            assert host is not None
            assert vm == replace(self.replayed.vms[vm.name], host=None)
            assert model.is_redeployed_from(self.replayed, vm.name, host)
            self.memory.leave(self.replayed, vm.name, host)

    def pick(self, number: int) -> Maintenance:
        """Return one of the maintenance operations, the latest for small numbers."""
        maintenances = list(self.slice.maintenances.values())
        return maintenances[-1 - number % len(maintenances)]

    def has_maintenances(self) -> bool:
        return bool(self.slice.maintenances)

    # --- the fleet -----------------------------------------------------------

    def change_to(self, desired: Fleet) -> None:
        self.take(self.changed_to(desired))

    def changed_to(self, desired: Fleet) -> Step:
        current = Fleet(
            hosts=self.slice.hosts, groups=self.slice.groups, vms=self.slice.vms
        )
        return fleet_changes.change(
            self.slice, self.context, fleet_changes.difference(current, desired)
        )

    def is_listed(self, vm: str) -> bool:
        return any(
            maintenance.phase.is_live
            and vm in maintenance.vms
            and vm not in maintenance.left
            for maintenance in self.slice.maintenances.values()
        )

    @rule(
        name=vm_names,
        host=st.none() | host_names,
        update_domain=st.sampled_from([None, 0, 1]),
        size=st.sampled_from(["small", "large"]),
    )
    def put_vm(
        self, name: str, host: str | None, update_domain: int | None, size: str
    ) -> None:
        group = next(vm.group for vm in VMS if vm.name == name)
        new = VM(
            name=name, group=group, host=host, update_domain=update_domain, size=size
        )
        old, listed = self.slice.vms.get(name), self.is_listed(name)
        fleet = replace(
            FLEET,
            groups={group: FLEET.groups[group], **self.slice.groups},
            vms={**self.slice.vms, name: new},
        )
        kept = old is not None and old.update_domain == update_domain
        before = self.slice
        try:
            step = self.changed_to(fleet)
        except InUse:
            assert listed
            assert not kept
            return
        assert kept or not listed
        if old is not None and old.host is not None and old.host != host:
            self.memory.leave(before, name, old.host)
        self.take(step)

    @rule(name=vm_names)
    def remove_vm(self, name: str) -> None:
        vms = {vm_name: vm for vm_name, vm in self.slice.vms.items() if vm_name != name}
        if name in self.slice.vms:
            self.memory.leave(self.slice, name)
        self.change_to(replace(FLEET, groups=self.slice.groups, vms=vms))

    @rule(name=group_names, isolated=st.booleans())
    def isolate(self, name: str, isolated: bool) -> None:
        if name not in self.slice.groups:
            return
        group = replace(self.slice.groups[name], isolated=isolated)
        groups = {**self.slice.groups, name: group}
        self.change_to(replace(FLEET, groups=groups, vms=self.slice.vms))

    # --- time ----------------------------------------------------------------

    def next_moment(self) -> None:
        """Move the clock to the next moment at which time alone changes something."""
        moments = [
            moment
            for maintenance in self.slice.maintenances.values()
            if (moment := self.moment_of(maintenance)) is not None
        ]
        if moments and min(moments) > self.now:
            self.wait(min(moments) - self.now)

    def moment_of(self, one: Maintenance) -> datetime | None:
        return next_moment(one, self.now, self.policy, self.slice.outages)

    @rule()
    def wait_for_the_next_moment(self) -> None:
        self.next_moment()

    @rule(step=st.sampled_from([SECOND, 7 * SECOND, MINUTE, 11 * MINUTE, 25 * HOUR]))
    def wait(self, step: timedelta) -> None:
        self.now += step
        self.memory.there += step

    @rule(step=st.sampled_from([61 * SECOND, 11 * MINUTE, 29 * MINUTE, 30 * HOUR]))
    def be_away(self, step: timedelta) -> None:
        since = self.now
        self.now += step
        outage = Outage(since=since, until=self.now)
        fact = OutageEnded(at=self.now, outage=outage)
        self.take(Step(transitions.apply(self.slice, fact), (fact,)))

    @rule()
    def tick(self) -> None:
        self.take(commands.tick(self.slice, self.context))
        model.check_nothing_is_left(self.slice, self.now, self.memory)
        for maintenance in self.slice.maintenances.values():
            moment = self.moment_of(maintenance)
            assert moment is None or moment > self.now
