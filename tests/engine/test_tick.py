"""Ticks: nothing due is left over, and nothing due later is forgotten."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import pytest
from tests.engine.support.system import (
    HOUR,
    MINUTE,
    NOON,
    SECOND,
    OpenStore,
    System,
    a_reboot,
    a_system,
    an_emergency,
)

from forewarn.clocks import ManualClock
from forewarn.core.fleet import VM
from forewarn.core.lifecycle.announcements import Order
from forewarn.core.lifecycle.facts import Completed
from forewarn.core.lifecycle.model import Maintenance, Phase
from forewarn.core.lifecycle.operations import VmOperation, order_for
from forewarn.core.lifecycle.policy import Rules
from forewarn.engine.engine import Engine
from forewarn.engine.operations import Operations
from forewarn.protocol.types import EventType


def is_nothing_due(system: System) -> bool:
    with system.store.snapshot() as snapshot:
        return not snapshot.due(system.clock.now())


def test_a_tick_starts_exactly_what_is_due(system: System) -> None:
    due, later = (
        system.announce(a_reboot("web-0")),
        system.announce(a_reboot("db-0", minutes=16)),
    )
    system.clock.move_to(due.not_before)
    system.engine.tick()
    assert system.phase(due.id) is Phase.STARTED
    assert system.phase(later.id) is Phase.SCHEDULED


@pytest.mark.parametrize("minutes", [0, 14, 15, 16, 30, 60, 61, 24 * 60])
def test_after_a_tick_nothing_is_due(system: System, minutes: int) -> None:
    for order in (
        a_reboot("web-0"),
        a_reboot("web-1"),
        a_reboot(host="host-a", minutes=15),
        a_reboot("lone", minutes=60),
        an_emergency("iso-0"),
        Order(type=EventType.TERMINATE, vms=("iso-1", "web-2")),
    ):
        system.engine.announce(order, by="ops")
    system.clock.move_to(NOON + minutes * MINUTE)
    system.engine.tick()
    assert is_nothing_due(system)
    following = system.engine.next_moment()
    assert following is None or following > system.clock.now()


def test_a_vm_deleted_with_its_group_leaves_nothing_to_wait_for(
    system: System,
) -> None:
    order = order_for(VmOperation.DELETE, "lone")
    Operations(system.engine).operate(VmOperation.DELETE, order, by="ops")
    system.read_to_end()
    system.clock.move_to(NOON + MINUTE)
    system.engine.tick()
    assert "lone" not in system.fleet().groups
    assert system.engine.next_moment() is None


def test_the_next_moment_is_the_next_start_or_end(system: System) -> None:
    maintenance = system.announce(a_reboot("web-0"))
    assert system.engine.next_moment() == maintenance.not_before
    system.clock.move_to(maintenance.not_before)
    system.engine.tick()
    system.works.catch_up()
    assert system.engine.next_moment() == maintenance.not_before + 5 * SECOND


def test_an_end_in_one_group_starts_maintenance_of_two_groups(
    system: System,
) -> None:
    holding = system.announce(an_emergency("web-1"))
    held = system.announce(a_reboot(host="host-a"))
    for event in held.events:
        system.engine.approve(event.id, by="ops")
    assert system.phase(held.id) is Phase.SCHEDULED
    system.works.catch_up()
    system.clock.move_to(NOON + 5 * SECOND)
    system.engine.tick()  # loads only web, and must consider db as well
    assert system.phase(holding.id) is Phase.COMPLETED
    assert system.phase(held.id) is Phase.STARTED


def test_a_blocker_in_either_group_blocks_maintenance_of_both(system: System) -> None:
    system.announce(an_emergency("web-1"))
    system.announce(an_emergency("db-1"))
    held = system.announce(a_reboot(host="host-a"))
    for event in held.events:
        system.engine.approve(event.id, by="ops")
    web, db = (
        maintenance
        for maintenance in system.maintenances()
        if maintenance.id != held.id
    )
    system.clock.move_to(NOON + MINUTE)
    system.engine.complete(web.id, by="ops")
    assert system.phase(held.id) is Phase.SCHEDULED
    system.engine.complete(db.id, by="ops")
    assert system.phase(held.id) is Phase.STARTED


def test_facts_never_go_back_in_time(open_store: OpenStore) -> None:
    store = open_store()
    a_system(store, at=NOON + HOUR).announce(a_reboot("web-0"))
    system = a_system(store, at=NOON, fleet=None)  # the clock was set back
    maintenance = system.announce(a_reboot("db-0"))
    times = [fact.at for fact in system.journal()]
    assert times == sorted(times)
    assert maintenance.announced_at == NOON + HOUR


def test_the_heartbeat_is_a_setting_and_not_a_fact(system: System) -> None:
    before = system.journal()
    system.clock.move_to(NOON + MINUTE)
    system.engine.beat()
    assert system.journal() == before
    with system.store.snapshot() as snapshot:
        assert snapshot.setting("heartbeat") == (NOON + MINUTE).isoformat()


# --- commands before the tick ------------------------------------------------
#
# The clock of a real service moves on between ticks: for milliseconds in each second,
# and for as long as the service was down.


def cancel_again(system: System, over: Maintenance) -> None:
    system.engine.cancel(over.id, by="ops")


def approve_in_one_group(system: System, over: Maintenance) -> None:
    maintenance = system.announce(a_reboot("web-2", minutes=60))
    system.engine.approve_as_vm("web-2", [maintenance.events[0].id])


def change_the_fleet(system: System, over: Maintenance) -> None:
    system.fleets.put_vm(VM(name="web-9", group="web", update_domain=9), by="ops")


def enable_web(system: System, over: Maintenance) -> None:
    system.engine.listen(["web"])


def announce_another(system: System, over: Maintenance) -> None:
    system.announce(a_reboot("web-2"))


Before = Callable[[System, Maintenance], None]


@pytest.mark.parametrize(
    "command",
    [
        cancel_again,
        approve_in_one_group,
        change_the_fleet,
        enable_web,
        announce_another,
    ],
)
def test_a_command_before_the_tick_forgets_nothing(
    system: System, command: Before
) -> None:
    over = system.announce(a_reboot("web-1"))
    system.engine.cancel(over.id, by="ops")
    maintenance = system.announce(a_reboot(host="host-a"))
    system.clock.move_to(maintenance.not_before)
    command(system, over)
    system.advance.by(2 * HOUR)
    assert system.phase(maintenance.id) is Phase.COMPLETED


def test_completing_again_before_the_tick_forgets_nothing(system: System) -> None:
    over = system.announce(an_emergency("web-1"))
    system.advance.by(MINUTE)
    maintenance = system.announce(a_reboot(host="host-a"))
    system.clock.move_to(maintenance.not_before)
    system.engine.complete(over.id, by="ops")
    system.advance.by(HOUR)
    assert system.phase(maintenance.id) is Phase.COMPLETED


def test_a_command_before_the_tick_forgets_nothing_two_groups_away(
    system: System,
) -> None:
    system.fleets.put_vm(VM(name="lone", group="lone", host="host-a"), by="ops")
    system.fleets.put_vm(VM(name="solo", group="solo", host="host-b"), by="ops")
    far = system.announce(a_reboot(host="host-b"))  # web, db and solo
    near = system.announce(a_reboot(host="host-a"))  # web, db and lone, after it
    system.clock.move_to(near.not_before)
    other = system.announce(a_reboot("lone", minutes=60))
    system.advance.by(3 * HOUR)
    assert {item.id for item in (near, far, other)} == {
        fact.maintenance for fact in system.facts(Completed)
    }


class HastyClock(ManualClock):
    """A clock that moves on by a minute whenever it is read."""

    def now(self) -> datetime:
        moment = super().now()
        self.move_to(moment + MINUTE)
        return moment


def test_a_maintenance_due_again_immediately_does_not_loop(
    system: System,
) -> None:
    maintenance = system.announce(replace(an_emergency("web-0"), notice=MINUTE))
    engine = Engine(
        system.store,
        HastyClock(maintenance.not_before),
        rules=Rules(lead=SECOND),
        observations=system.observations,
    )
    engine.tick()  # it starts, and its lead is over by the next tick
    assert system.phase(maintenance.id) is Phase.STARTED
