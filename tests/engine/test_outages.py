"""Outages: after downtime, the service gives the notice it still owes."""

from datetime import datetime, timedelta

import pytest
from tests.engine.support.system import (
    HOUR,
    MINUTE,
    NOON,
    SECOND,
    DocumentSink,
    OpenStore,
    System,
    a_reboot,
    a_system,
    an_emergency,
    counted,
)

from forewarn.core.lifecycle import transitions
from forewarn.core.lifecycle.announcements import Order
from forewarn.core.lifecycle.facts import (
    Enabled,
    OutageEnded,
    Published,
    Started,
)
from forewarn.core.lifecycle.model import Phase
from forewarn.core.outages import Outage
from forewarn.engine.readers.documents import Documents
from forewarn.protocol.types import EventSource, EventStatus, EventType

USER_RESTART = Order(type=EventType.REBOOT, vms=("web-0",), source=EventSource.USER)


def reopened(system: System, at: datetime) -> System:
    """Start the service again at a later time, as `compose` does it."""
    first_id = 1000 * len(system.journal())
    again = a_system(system.store, at=at, new_id=counted(first_id), fleet=None)
    again.engine.beat()
    return again


def restart_after(system: System, gap: timedelta) -> System:
    """Stop the service and start it again after `gap`."""
    return reopened(system, system.clock.now() + gap)


def starts(system: System) -> dict[str, datetime]:
    """Return when each maintenance started."""
    return {fact.maintenance: fact.at for fact in system.facts(Started)}


# --- notice ------------------------------------------------------------------


def test_a_reboot_announced_at_noon_with_downtime_from_1_to_30_starts_at_44(
    system: System,
) -> None:
    maintenance = system.announce(a_reboot("web-0"))
    system.advance.by(MINUTE)
    again = restart_after(system, 29 * MINUTE)
    again.advance.by(2 * HOUR)
    assert starts(again) == {maintenance.id: NOON + 44 * MINUTE}
    outage = Outage(since=NOON + MINUTE, until=NOON + 30 * MINUTE)
    assert again.facts(OutageEnded) == [OutageEnded(at=outage.until, outage=outage)]


def test_a_delayed_event_is_shown_with_its_original_time(
    system: System,
) -> None:
    maintenance = system.announce(a_reboot("web-0"))
    shown = system.plane.seen_by_all()
    again = restart_after(system, HOUR)
    again.advance.by(15 * MINUTE - SECOND)
    assert again.plane.seen_by_all() == shown
    (event,) = again.plane.document("web-1").events
    assert (event.status, event.not_before) == (
        EventStatus.SCHEDULED,
        maintenance.not_before,
    )
    again.advance.by(SECOND)
    assert again.phase(maintenance.id) is Phase.STARTED


def test_lost_notice_adds_up_over_several_outages(system: System) -> None:
    maintenance = system.announce(a_reboot("web-0"))
    for _ in range(4):
        system.advance.by(3 * MINUTE)
        system = restart_after(system, 5 * HOUR)
    system.advance.by(HOUR)
    assert starts(system) == {maintenance.id: NOON + 15 * MINUTE + 20 * HOUR}


def test_outages_are_remembered_back_to_the_oldest_announcement(
    system: System,
) -> None:
    long = system.announce(a_reboot("web-0", minutes=72 * 60))
    for _ in range(6):
        system.advance.by(MINUTE)
        system = restart_after(system, 13 * HOUR)
    system.advance.by(24 * HOUR)
    assert starts(system) == {long.id: NOON + 15 * MINUTE + 78 * HOUR}


def test_an_outage_that_leaves_enough_notice_delays_nothing(system: System) -> None:
    maintenance = system.announce(a_reboot("web-0", minutes=60))
    system.advance.by(20 * MINUTE)
    again = restart_after(system, 30 * MINUTE)
    again.advance.by(HOUR)
    assert starts(again) == {maintenance.id: maintenance.not_before}


def test_an_announcement_after_an_outage_gets_only_its_own_notice(
    system: System,
) -> None:
    again = restart_after(system, 5 * HOUR)
    maintenance = again.announce(a_reboot("web-0"))
    again.advance.by(HOUR)
    assert starts(again) == {maintenance.id: maintenance.announced_at + 15 * MINUTE}


def test_an_approval_starts_a_delayed_maintenance(system: System) -> None:
    maintenance = system.announce(a_reboot("web-0"))
    again = restart_after(system, HOUR)
    again.engine.approve_as_vm("web-1", [maintenance.events[0].id])
    assert starts(again) == {maintenance.id: NOON + HOUR}


def test_one_unapproved_group_is_enough_to_wait(system: System) -> None:
    maintenance = system.announce(a_reboot(host="host-a"))
    web, _ = maintenance.events
    system.engine.approve(web.id, by="ops")
    again = restart_after(system, HOUR)
    again.advance.by(HOUR)
    assert starts(again) == {maintenance.id: NOON + HOUR + 15 * MINUTE}


def test_an_emergency_is_not_delayed(system: System) -> None:
    order = an_emergency("web-0")
    noticed = Order(
        type=order.type,
        vms=order.vms,
        emergency=True,
        reason="smoke",
        notice=5 * MINUTE,
    )
    maintenance = system.announce(noticed)
    again = restart_after(system, HOUR)
    again.engine.tick()
    assert starts(again) == {maintenance.id: NOON + HOUR}


def test_younger_maintenance_queues_after_one_that_waits_for_notice(
    system: System,
) -> None:
    older = system.announce(a_reboot("web-0"))
    younger = system.announce(a_reboot("web-1", minutes=16))
    system.advance.by(MINUTE)
    again = restart_after(system, HOUR)
    again.engine.approve(younger.events[0].id, by="ops")
    again.advance.by(HOUR)
    opens = NOON + HOUR + 15 * MINUTE
    assert starts(again) == {older.id: opens, younger.id: opens + 5 * SECOND}


def test_the_next_moment_after_an_outage_is_the_end_of_the_blocker(
    system: System,
) -> None:
    maintenance = system.announce(a_reboot("web-0"))
    again = restart_after(system, HOUR)
    again.announce(a_reboot("web-1", minutes=600))
    assert again.engine.next_moment() == maintenance.not_before + HOUR


# --- disabling ---------------------------------------------------------------


def test_an_outage_disables_no_group(system: System) -> None:
    system.engine.listen(["web"])
    epoch = system.plane.epoch("web-0")
    again = restart_after(system, 30 * HOUR)
    again.engine.listen(["web"])
    assert again.plane.epoch("web-0") == epoch
    maintenance = again.announce(USER_RESTART)
    assert (maintenance.phase, maintenance.not_before) == (
        Phase.SCHEDULED,
        NOON + 30 * HOUR + 15 * MINUTE,
    )
    assert again.plane.document("web-0").incarnation == 1


@pytest.mark.parametrize(("more", "begins"), [(-SECOND, False), (SECOND * 0, True)])
def test_a_group_is_disabled_after_24_hours_in_which_it_could_poll(
    system: System, more: timedelta, begins: bool
) -> None:
    system.engine.listen(["web"])
    system.advance.by(10 * HOUR)
    system = restart_after(system, 30 * HOUR)
    system.advance.by(10 * HOUR)
    system = restart_after(system, 7 * HOUR)
    system.advance.by(4 * HOUR + more)
    system.engine.listen(["web"])
    assert (len(system.facts(Enabled)) == 2) is begins


def test_planned_maintenance_of_a_disabled_group_is_delayed(
    system: System,
) -> None:
    maintenance = system.announce(a_reboot("lone"))
    again = restart_after(system, HOUR)
    again.advance.by(HOUR)
    assert starts(again) == {maintenance.id: maintenance.not_before + HOUR}


# --- storage -----------------------------------------------------------------


def test_the_replayed_journal_has_the_stored_outages(
    system: System,
) -> None:
    system.announce(a_reboot("web-0", minutes=600))
    for _ in range(3):
        system = restart_after(system, HOUR)
    with system.store.snapshot() as snapshot:
        kept = snapshot.slice(None).outages
    assert len(kept) == 3
    assert transitions.replay(system.journal()).outages == kept


def test_an_outage_publishes_nothing(system: System) -> None:
    system.announce(a_reboot("web-0"))
    before = system.facts(Published)
    again = restart_after(system, 30 * HOUR)
    assert again.facts(Published) == before


def test_a_plane_that_opens_receives_the_relevant_outages(
    system: System,
) -> None:
    again = restart_after(system, HOUR)  # before the first request
    again.engine.listen(["web"])
    last = restart_after(restart_after(again, 2 * HOUR), 3 * HOUR)
    plane = DocumentSink()
    Documents(last.store, plane.hand_over).open()
    (update,) = plane.updates
    assert [outage.until - outage.since for outage in update.outages] == [
        2 * HOUR,
        3 * HOUR,
    ]


def test_a_running_plane_receives_an_outage_once(open_store: OpenStore) -> None:
    store = open_store()
    a_system(store)
    again = a_system(store, at=NOON + HOUR, fleet=None)
    for _ in range(2):
        again.engine.beat()
        again.documents.catch_up()
    received = [outage for update in again.plane.updates for outage in update.outages]
    assert received == [Outage(since=NOON, until=NOON + HOUR)]
