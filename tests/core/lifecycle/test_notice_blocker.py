"""Notice blocker: which groups it names, when it ends, and what queues after it."""

from dataclasses import replace
from datetime import datetime, timedelta

import pytest
from tests.core.support.builders import (
    HOUR,
    MINUTE,
    NOON,
    RULES,
    SECOND,
    a_maintenance,
    a_slice,
    a_vm,
    an_event,
    an_order,
    an_outage,
)
from tests.core.support.outages import (
    MICROSECOND,
    announced,
    apply_outage,
    approve,
    only,
    started,
    starts_at,
)

from forewarn.core.fleet import Host
from forewarn.core.lifecycle import policy
from forewarn.core.lifecycle.model import Phase, Slice
from forewarn.core.lifecycle.policy import Blocker
from forewarn.protocol.types import EventType

# --- several groups ----------------------------------------------------------


def a_host_of_two_groups() -> Slice:
    """Return a slice with host Reboot ID1: event ID2 of group0 and ID3 of group1."""
    vms = [
        a_vm("vm0", group="group0", host="host0"),
        a_vm("vm1", group="group1", host="host0"),
    ]
    slice_ = a_slice(hosts=[Host(name="host0")], vms=vms)
    return announced(an_order(host="host0"), slice_=slice_)


def test_one_unapproved_event_is_enough_to_wait() -> None:
    slice_ = approve(a_host_of_two_groups(), "ID2", at=NOON)
    assert starts_at(apply_outage(slice_, 1, 30), NOON + 44 * MINUTE)


def test_the_blocker_names_the_groups_that_have_not_approved() -> None:
    slice_ = apply_outage(a_host_of_two_groups(), 1, 30)
    now, opens_at = NOON + 30 * MINUTE, NOON + 44 * MINUTE

    def blockers(slice_: Slice) -> list[Blocker]:
        return [*policy.blockers(slice_, only(slice_), now)]

    assert blockers(slice_) == [
        Blocker(kind="notice", group=group, held_by=None, opens_at=opens_at)
        for group in ("group0", "group1")
    ]
    assert [blocker.group for blocker in blockers(approve(slice_, "ID2", at=now))] == [
        "group1"
    ]


# --- the blocker and its times -----------------------------------------------


def test_without_an_outage_there_is_no_notice_blocker() -> None:
    slice_ = announced(at=NOON + 300_000 * MICROSECOND)
    for seconds in (0, 60, 899, 900, 901):
        now = NOON + seconds * SECOND
        assert [*policy.blockers(slice_, only(slice_), now)] == []


def test_the_blocker_is_predicted_before_the_maintenance_is_due() -> None:
    slice_ = apply_outage(announced(), 1, 5)
    (blocker,) = policy.blockers(slice_, only(slice_), NOON + 5 * MINUTE)
    assert (blocker.kind, blocker.opens_at) == ("notice", NOON + 19 * MINUTE)


def test_both_blockers_are_named_if_both_block() -> None:
    running = a_maintenance("running", phase=Phase.STARTED)
    waiting = a_maintenance(
        "waiting", events=[an_event("e1", update_domain=1)], promised=900
    )
    slice_ = a_slice(maintenances=[running, waiting], outages=[an_outage(1, 30)])
    blockers = policy.blockers(slice_, waiting, NOON + 30 * MINUTE)
    assert [blocker.kind for blocker in blockers] == ["update-domain", "notice"]


def moments(slice_: Slice, now: datetime) -> list[datetime]:
    """Return the moments at which time alone changes something, if nothing starts."""
    upcoming: list[datetime] = []
    moment = policy.next_moment(only(slice_), now, RULES, slice_.outages)
    while moment is not None:
        upcoming.append(moment)
        moment = policy.next_moment(only(slice_), moment, RULES, slice_.outages)
    return upcoming


def test_the_moments_are_its_due_time_and_the_end_of_the_blocker() -> None:
    slice_ = apply_outage(announced(), 1, 5)
    due, opens = NOON + 15 * MINUTE, NOON + 19 * MINUTE
    assert moments(slice_, NOON + 5 * MINUTE) == [due, opens]
    assert moments(slice_, due) == [opens]


@pytest.mark.parametrize("notice", [None, 7 * HOUR])
def test_without_an_outage_the_only_moment_is_the_due_time(
    notice: timedelta | None,
) -> None:
    slice_ = announced(an_order(notice=notice), at=NOON + 300_000 * MICROSECOND)
    assert moments(slice_, NOON + SECOND) == [only(slice_).not_before]


def test_approved_maintenance_has_no_blocker() -> None:
    slice_ = apply_outage(a_host_of_two_groups(), 1, 30)
    approved = replace(
        only(slice_),
        events=tuple(replace(e, approved_at=NOON) for e in only(slice_).events),
    )
    now = NOON + 30 * MINUTE
    assert policy.next_moment(approved, now, RULES, slice_.outages) is None


# --- with other blockers --------------------------------------------------------


def a_queue(type_: EventType = EventType.REBOOT) -> Slice:
    """Return an older Reboot that lost notice, and a younger one that got its own."""
    older = a_maintenance("older", not_before=NOON + 15 * MINUTE, promised=900)
    younger = a_maintenance(
        "younger",
        type_=type_,
        not_before=NOON + 16 * MINUTE,
        events=[an_event("e1", resources=("vm1",))],
    )
    return a_slice(maintenances=[older, younger], outages=[an_outage(1, 30)])


def test_later_maintenance_queues_after_maintenance_that_waits_for_notice() -> None:
    assert started(a_queue(), NOON + 30 * MINUTE) == []
    assert started(a_queue(), NOON + 44 * MINUTE) == ["older", "younger"]


def test_unplanned_maintenance_does_not_queue_after_it() -> None:
    assert started(a_queue(EventType.PREEMPT), NOON + 30 * MINUTE) == ["younger"]


def test_a_coupled_terminate_waits_at_most_until_the_not_before_of_the_other() -> None:
    slice_ = a_slice(vms=[a_vm("vm0"), a_vm("vm1")])
    both = announced(an_order(EventType.TERMINATE, vms=("vm0", "vm1")), slice_=slice_)
    first, other = both.maintenances.values()
    held = apply_outage(approve(both, first.events[0].id, at=NOON), 1, 4)
    assert started(held, NOON + 4 * MINUTE) == []
    assert started(held, NOON + 5 * MINUTE) == [first.id]
    assert other.id in started(held, NOON + 8 * MINUTE)
