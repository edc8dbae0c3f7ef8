"""An outage is nobody's notice: rule 13."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest
from tests.core.away import (
    announced,
    approve,
    away,
    only,
    started,
    starts_at,
)
from tests.core.builders import (
    HOUR,
    MINUTE,
    NOON,
    RULES,
    SECOND,
    a_group,
    a_maintenance,
    a_slice,
    a_vm,
    an_order,
    an_outage,
)

from forewarn.core import commands, lifecycle
from forewarn.core import facts as f
from forewarn.core.fleet import Listening
from forewarn.core.maintenance import Cause, Phase
from forewarn.core.outages import Outage, lost
from forewarn.protocol.types import EventSource, EventType

#: What the documentation promises.
PROMISED: Mapping[EventType, timedelta] = {
    EventType.FREEZE: 15 * MINUTE,
    EventType.REBOOT: 15 * MINUTE,
    EventType.REDEPLOY: 10 * MINUTE,
    EventType.PREEMPT: 30 * SECOND,
    EventType.TERMINATE: 5 * MINUTE,
}


# --- how much is lost --------------------------------------------------------


@pytest.mark.parametrize(
    ("outages", "minutes"),
    [
        ([], 0),
        ([an_outage(2, 5)], 3),
        ([an_outage(0, 10)], 10),
        ([an_outage(-5, 15)], 10),
        ([an_outage(-5, 3)], 3),
        ([an_outage(7, 15)], 3),
        ([an_outage(-5, 0)], 0),
        ([an_outage(10, 15)], 0),
        ([an_outage(-9, -5)], 0),
        ([an_outage(11, 15)], 0),
        ([an_outage(-5, 1), an_outage(2, 3), an_outage(5, 7), an_outage(9, 20)], 5),
    ],
)
def test_of_ten_minutes_that_part_is_lost_which_lies_in_outages(
    outages: list[Outage], minutes: int
) -> None:
    assert lost(outages, NOON, NOON + 10 * MINUTE) == minutes * MINUTE


# --- when it starts ----------------------------------------------------------


def test_a_reboot_of_noon_that_was_down_from_1_to_30_starts_at_44() -> None:
    assert starts_at(away(announced(), 1, 30), NOON + 44 * MINUTE)


@pytest.mark.parametrize("type_", EventType)
def test_what_was_lost_of_the_promised_notice_is_given_afterwards(
    type_: EventType,
) -> None:
    vms = [a_vm("vm0", spot=True)]
    slice_ = announced(an_order(type_), slice_=a_slice(vms=vms))
    outage = Outage(since=NOON + 10 * SECOND, until=NOON + 2 * HOUR)
    back = commands.end_outage(slice_, outage, outage.until).slice
    assert starts_at(back, outage.until + PROMISED[type_] - 10 * SECOND)


def test_a_terminate_gets_the_notice_that_its_group_has_set() -> None:
    group = a_group(terminate_notice=600)
    slice_ = announced(
        an_order(EventType.TERMINATE), slice_=a_slice(groups=[group], vms=[a_vm()])
    )
    assert starts_at(away(slice_, 4, 60), NOON + 66 * MINUTE)


def test_the_notice_is_the_one_that_was_promised_at_the_announcement() -> None:
    slice_ = announced(an_order(EventType.TERMINATE))
    longer = replace(slice_, groups={"group0": a_group(terminate_notice=900)})
    assert starts_at(away(longer, 4, 60), NOON + 61 * MINUTE)


def test_an_outage_that_leaves_time_enough_changes_nothing() -> None:
    slice_ = announced(an_order(notice=60 * MINUTE))
    assert starts_at(away(slice_, 10, 55), NOON + 60 * MINUTE)


def test_of_a_longer_notice_only_the_minimum_must_have_been_served() -> None:
    slice_ = announced(an_order(notice=60 * MINUTE))
    assert starts_at(away(slice_, 10, 90), NOON + 95 * MINUTE)


def test_what_was_served_before_the_outage_is_enough() -> None:
    slice_ = away(announced(an_order(notice=60 * MINUTE)), 15, 90)
    assert started(slice_, NOON + 90 * MINUTE) == [only(slice_).id]


def test_several_outages_add_up() -> None:
    slice_ = announced()
    for since, until in ((1, 5), (6, 16), (20, 50)):
        slice_ = away(slice_, since, until)
    assert starts_at(slice_, NOON + (15 + 4 + 10 + 30) * MINUTE)


def test_an_outage_after_the_notice_was_given_at_last_holds_no_more() -> None:
    held = away(away(announced(), 1, 30), 44, 80)
    assert started(held, NOON + 80 * MINUTE) == [only(held).id]


def test_an_outage_before_the_announcement_does_not_matter() -> None:
    before = away(a_slice(), -60, 0)
    assert starts_at(announced(slice_=before), NOON + 15 * MINUTE)


def test_of_an_outage_that_began_before_the_announcement_only_the_rest_counts() -> None:
    assert starts_at(away(announced(), -1, 20), NOON + 35 * MINUTE)


def test_a_user_operation_waits_too() -> None:
    asked = a_group(listening=Listening.ON_DEMAND, last_request=NOON)
    slice_ = announced(
        an_order(source=EventSource.USER), slice_=a_slice(groups=[asked], vms=[a_vm()])
    )
    assert starts_at(away(slice_, 1, 30), NOON + 44 * MINUTE)


# --- what does not wait ------------------------------------------------------


@pytest.mark.parametrize("notice", [None, MINUTE, 15 * MINUTE])
def test_an_emergency_does_not_wait(notice: timedelta | None) -> None:
    order = an_order(emergency=True, reason="smoke", notice=notice)
    slice_ = away(announced(order), 1, 30)
    assert notice is None or started(slice_, NOON + 30 * MINUTE) == [only(slice_).id]
    assert notice is not None or only(slice_).phase is Phase.STARTED


def test_an_emergency_that_a_gate_held_does_not_wait_for_notice() -> None:
    running = a_maintenance("running", phase=Phase.STARTED, done=("vm0",))
    other = a_vm("vm1", update_domain=1)
    order = an_order(vms=("vm1",), emergency=True, reason="smoke")
    slice_ = announced(
        order, slice_=a_slice(maintenances=[running], vms=[a_vm(), other])
    )
    assert started(away(slice_, 0, 30), NOON + 30 * MINUTE) == ["ID1"]


def test_a_failed_host_does_not_wait() -> None:
    failed = a_maintenance(cause=Cause.HOST_FAILURE, at_once=True, not_before=NOON)
    slice_ = a_slice(maintenances=[failed], outages=[an_outage(1, 30)])
    assert started(slice_, NOON + 30 * MINUTE) == ["m0"]


def test_what_was_approved_before_the_outage_does_not_wait() -> None:
    running = a_maintenance("running", phase=Phase.STARTED)
    domains = [a_vm("vm0", update_domain=0), a_vm("vm1", update_domain=1)]
    slice_ = announced(
        an_order(vms=("vm1",)), slice_=a_slice(maintenances=[running], vms=domains)
    )
    held = approve(slice_, "ID2", at=NOON)
    assert held.maintenance("ID1").phase is Phase.SCHEDULED
    back = away(held, 1, 5)
    over = commands.complete(
        back, "running", by="ops", now=NOON + 5 * MINUTE, rules=RULES
    )
    assert over.slice.maintenance("ID1").phase is Phase.STARTED


def test_an_approval_after_the_outage_opens_the_gate() -> None:
    slice_ = away(announced(), 1, 30)
    approved = approve(slice_, "ID2", at=NOON + 31 * MINUTE)
    assert only(approved).started_at == NOON + 31 * MINUTE


# --- what it leaves behind ---------------------------------------------------


def test_an_outage_is_written_down_and_shown_to_nobody() -> None:
    slice_, outage = announced(), an_outage(1, 30)
    step = commands.end_outage(slice_, outage, NOON + 31 * MINUTE)
    assert step.facts == (f.OutageEnded(at=NOON + 31 * MINUTE, outage=outage),)
    assert step.slice == replace(slice_, outages=(outage,))


def test_held_beyond_its_time_it_is_shown_as_before() -> None:
    slice_ = away(announced(), 1, 30)
    assert commands.tick(slice_, NOON + 43 * MINUTE, RULES).facts == ()


def test_the_journal_replayed_knows_all_outages() -> None:
    outages = (an_outage(1, 30), an_outage(40, 60))
    facts = [f.OutageEnded(at=each.until, outage=each) for each in outages]
    assert lifecycle.replay(facts).outages == outages
