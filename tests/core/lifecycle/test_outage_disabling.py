"""Outages and disabling: downtime does not count as inactivity (rule 13)."""

from dataclasses import replace
from datetime import timedelta

import pytest
from tests.core.support.builders import (
    HOUR,
    MINUTE,
    NOON,
    a_context,
    a_group,
    a_slice,
    a_vm,
    an_order,
    an_outage,
)
from tests.core.support.outages import MICROSECOND, announced, apply_outage, only

from forewarn.core.fleet import Enabling, Group
from forewarn.core.lifecycle import commands
from forewarn.core.lifecycle.model import Phase
from forewarn.core.lifecycle.settlement import Step
from forewarn.core.outages import Outage
from forewarn.protocol.types import EventSource

DAY = 24 * 60  # minutes


def a_quiet_group() -> Group:
    """Return a group that last polled at noon."""
    return a_group(enabled=Enabling.ON_DEMAND, last_request=NOON)


@pytest.mark.parametrize(
    ("outages", "minutes"),
    [
        ([], DAY),
        ([an_outage(60, 31 * 60)], DAY + 30 * 60),
        ([an_outage(60, 120), an_outage(DAY, DAY + 60)], DAY + 120),
        ([an_outage(-60, 60)], DAY + 60),
        ([an_outage(-60, 0)], DAY),
        ([an_outage(DAY - 1, 3 * DAY)], 3 * DAY + 1),
    ],
)
def test_a_group_is_disabled_after_a_day_in_which_it_could_have_polled(
    outages: list[Outage], minutes: int
) -> None:
    group, end = a_quiet_group(), NOON + minutes * MINUTE
    assert group.is_enabled(end - MICROSECOND, outages)
    assert not group.is_enabled(end, outages)


def test_no_new_epoch_starts_after_an_outage() -> None:
    slice_ = apply_outage(a_slice(groups=[a_quiet_group()]), 60, 31 * 60)
    now = NOON + 31 * HOUR
    step = commands.listen(slice_, a_context(now), ["group0"])
    assert step == Step(slice_)


@pytest.mark.parametrize(
    ("asked", "phase"), [(20 * HOUR, Phase.SCHEDULED), (24 * HOUR, Phase.STARTED)]
)
def test_only_a_group_disabled_before_the_outage_is_restarted_immediately(
    asked: timedelta, phase: Phase
) -> None:
    group = replace(a_quiet_group(), last_request=NOON - asked)
    slice_ = apply_outage(a_slice(groups=[group], vms=[a_vm()]), 0, 30 * 60)
    changed = announced(
        an_order(source=EventSource.USER), slice_=slice_, at=NOON + 30 * HOUR
    )
    assert (only(changed).phase, only(changed).at_once) == (
        phase,
        phase is Phase.STARTED,
    )


def test_a_group_disabled_before_an_outage_stays_disabled() -> None:
    outage = an_outage(DAY, 3 * DAY)
    assert not a_quiet_group().is_enabled(outage.until, [outage])


def test_a_group_that_never_polled_stays_disabled() -> None:
    group = a_group(enabled=Enabling.ON_DEMAND)
    assert not group.is_enabled(NOON, [an_outage(-60, 0)])
