"""Outages: downtime does not count as notice (rule 13)."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import timedelta

import pytest
from tests.core.support.builders import (
    HOUR,
    MINUTE,
    NOON,
    SECOND,
    a_context,
    a_group,
    a_maintenance,
    a_slice,
    a_vm,
    an_order,
    an_outage,
)
from tests.core.support.outages import (
    announced,
    apply_outage,
    approve,
    only,
    started,
    starts_at,
)

from forewarn.core.fleet import Enabling
from forewarn.core.lifecycle import commands, transitions
from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.model import Cause, Phase
from forewarn.core.outages import Outage, time_lost
from forewarn.protocol.types import EventSource, EventType

#: Minimum notice that the documentation promises.
PROMISED: Mapping[EventType, timedelta] = {
    EventType.FREEZE: 15 * MINUTE,
    EventType.REBOOT: 15 * MINUTE,
    EventType.REDEPLOY: 10 * MINUTE,
    EventType.PREEMPT: 30 * SECOND,
    EventType.TERMINATE: 5 * MINUTE,
}


# --- lost time ---------------------------------------------------------------


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
def test_lost_time_is_the_part_of_an_interval_covered_by_outages(
    outages: list[Outage], minutes: int
) -> None:
    assert time_lost(outages, NOON, NOON + 10 * MINUTE) == minutes * MINUTE


# --- delayed starts ----------------------------------------------------------


def test_a_reboot_announced_at_noon_with_downtime_from_1_to_30_starts_at_44() -> None:
    assert starts_at(apply_outage(announced(), 1, 30), NOON + 44 * MINUTE)


@pytest.mark.parametrize("type_", EventType)
def test_lost_notice_is_given_after_the_outage(
    type_: EventType,
) -> None:
    vms = [a_vm("vm0", spot=True)]
    slice_ = announced(an_order(type_), slice_=a_slice(vms=vms))
    outage = Outage(since=NOON + 10 * SECOND, until=NOON + 2 * HOUR)
    back = transitions.apply(slice_, f.OutageEnded(at=outage.until, outage=outage))
    assert starts_at(back, outage.until + PROMISED[type_] - 10 * SECOND)


def test_a_terminate_gets_the_notice_of_its_group() -> None:
    group = a_group(terminate_notice=600)
    slice_ = announced(
        an_order(EventType.TERMINATE), slice_=a_slice(groups=[group], vms=[a_vm()])
    )
    assert starts_at(apply_outage(slice_, 4, 60), NOON + 66 * MINUTE)


def test_the_notice_promised_at_announcement_counts() -> None:
    slice_ = announced(an_order(EventType.TERMINATE))
    longer = replace(slice_, groups={"group0": a_group(terminate_notice=900)})
    assert starts_at(apply_outage(longer, 4, 60), NOON + 61 * MINUTE)


def test_an_outage_that_leaves_enough_time_changes_nothing() -> None:
    slice_ = announced(an_order(notice=60 * MINUTE))
    assert starts_at(apply_outage(slice_, 10, 55), NOON + 60 * MINUTE)


def test_of_a_longer_notice_only_the_minimum_must_be_served() -> None:
    slice_ = announced(an_order(notice=60 * MINUTE))
    assert starts_at(apply_outage(slice_, 10, 90), NOON + 95 * MINUTE)


def test_notice_served_before_the_outage_counts() -> None:
    slice_ = apply_outage(announced(an_order(notice=60 * MINUTE)), 15, 90)
    assert started(slice_, NOON + 90 * MINUTE) == [only(slice_).id]


def test_several_outages_add_up() -> None:
    slice_ = announced()
    for since, until in ((1, 5), (6, 16), (20, 50)):
        slice_ = apply_outage(slice_, since, until)
    assert starts_at(slice_, NOON + (15 + 4 + 10 + 30) * MINUTE)


def test_an_outage_after_the_full_notice_does_not_delay() -> None:
    held = apply_outage(apply_outage(announced(), 1, 30), 44, 80)
    assert started(held, NOON + 80 * MINUTE) == [only(held).id]


def test_an_outage_before_the_announcement_does_not_matter() -> None:
    before = apply_outage(a_slice(), -60, 0)
    assert starts_at(announced(slice_=before), NOON + 15 * MINUTE)


def test_only_the_part_of_an_outage_after_the_announcement_counts() -> None:
    assert starts_at(apply_outage(announced(), -1, 20), NOON + 35 * MINUTE)


def test_a_user_operation_is_delayed() -> None:
    enabled_group = a_group(enabled=Enabling.ON_DEMAND, last_request=NOON)
    slice_ = announced(
        an_order(source=EventSource.USER),
        slice_=a_slice(groups=[enabled_group], vms=[a_vm()]),
    )
    assert starts_at(apply_outage(slice_, 1, 30), NOON + 44 * MINUTE)


# --- exceptions --------------------------------------------------------------


@pytest.mark.parametrize("notice", [None, MINUTE, 15 * MINUTE])
def test_an_emergency_is_not_delayed(notice: timedelta | None) -> None:
    order = an_order(emergency=True, reason="smoke", notice=notice)
    slice_ = apply_outage(announced(order), 1, 30)
    assert notice is None or started(slice_, NOON + 30 * MINUTE) == [only(slice_).id]
    assert notice is not None or only(slice_).phase is Phase.STARTED


def test_a_blocked_emergency_is_not_delayed_further() -> None:
    running = a_maintenance("running", phase=Phase.STARTED, done=("vm0",))
    other = a_vm("vm1", update_domain=1)
    order = an_order(vms=("vm1",), emergency=True, reason="smoke")
    slice_ = announced(
        order, slice_=a_slice(maintenances=[running], vms=[a_vm(), other])
    )
    assert started(apply_outage(slice_, 0, 30), NOON + 30 * MINUTE) == ["ID1"]


def test_a_host_failure_is_not_delayed() -> None:
    failed = a_maintenance(cause=Cause.HOST_FAILURE, at_once=True, not_before=NOON)
    slice_ = a_slice(maintenances=[failed], outages=[an_outage(1, 30)])
    assert started(slice_, NOON + 30 * MINUTE) == ["m0"]


def test_maintenance_approved_before_the_outage_is_not_delayed() -> None:
    running = a_maintenance("running", phase=Phase.STARTED)
    domains = [a_vm("vm0", update_domain=0), a_vm("vm1", update_domain=1)]
    slice_ = announced(
        an_order(vms=("vm1",)), slice_=a_slice(maintenances=[running], vms=domains)
    )
    held = approve(slice_, "ID2", at=NOON)
    assert held.maintenance("ID1").phase is Phase.SCHEDULED
    back = apply_outage(held, 1, 5)
    over = commands.complete(back, a_context(NOON + 5 * MINUTE), "running")
    assert over.slice.maintenance("ID1").phase is Phase.STARTED


def test_an_approval_after_the_outage_unblocks_it() -> None:
    slice_ = apply_outage(announced(), 1, 30)
    approved = approve(slice_, "ID2", at=NOON + 31 * MINUTE)
    assert only(approved).started_at == NOON + 31 * MINUTE


# --- facts and documents -----------------------------------------------------


def test_an_outage_is_recorded_but_changes_no_document() -> None:
    slice_ = announced()
    assert apply_outage(slice_, 1, 30) == replace(slice_, outages=(an_outage(1, 30),))


def test_a_delayed_event_is_shown_unchanged() -> None:
    slice_ = apply_outage(announced(), 1, 30)
    assert commands.tick(slice_, a_context(NOON + 43 * MINUTE)).facts == ()


def test_a_replayed_journal_contains_all_outages() -> None:
    outages = (an_outage(1, 30), an_outage(40, 60))
    facts = [f.OutageEnded(at=outage.until, outage=outage) for outage in outages]
    assert transitions.replay(facts).outages == outages
