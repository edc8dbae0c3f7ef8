"""Operator commands: cancel, complete, retry and close in every phase."""

from collections.abc import Callable

import pytest
from tests.core.support.builders import (
    MINUTE,
    NOON,
    RULES,
    SECOND,
    a_context,
    a_maintenance,
    a_slice,
    an_event,
)

from forewarn.core.lifecycle import commands
from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.model import Phase, Slice
from forewarn.core.lifecycle.policy import next_moment
from forewarn.core.lifecycle.settlement import Step
from forewarn.errors import NotFound, TooLate

Command = Callable[[Slice], Step]


def cancel(slice_: Slice) -> Step:
    return commands.cancel(slice_, a_context(), "m0", reason="rain")


def complete(slice_: Slice) -> Step:
    return commands.complete(slice_, a_context(), "m0")


def retry(slice_: Slice) -> Step:
    return commands.retry(slice_, a_context(), "m0")


def close(slice_: Slice) -> Step:
    return commands.close(slice_, a_context(), "m0", reason="rain")


SCHEDULED = a_slice(maintenances=[a_maintenance(phase=Phase.SCHEDULED)])
STARTED = a_slice(maintenances=[a_maintenance(phase=Phase.STARTED)])
STUCK = a_slice(maintenances=[a_maintenance(phase=Phase.STARTED, stuck_since=NOON)])
COMPLETED = a_slice(maintenances=[a_maintenance(phase=Phase.COMPLETED)])
CANCELED = a_slice(maintenances=[a_maintenance(phase=Phase.CANCELED)])
FAILED = a_slice(maintenances=[a_maintenance(phase=Phase.FAILED)])


# --- the table ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("command", "slice_", "phase"),
    [
        (cancel, SCHEDULED, Phase.CANCELED),
        (complete, STARTED, Phase.STARTED),  # until its minimum display time is over
        (complete, STUCK, Phase.STARTED),
        (retry, STUCK, Phase.STARTED),
        (close, STUCK, Phase.FAILED),
    ],
)
def test_a_possible_command_is_carried_out(
    command: Command, slice_: Slice, phase: Phase
) -> None:
    step = command(slice_)
    assert step.slice.maintenance("m0").phase is phase
    assert step.facts


@pytest.mark.parametrize(
    ("command", "slice_"), [(cancel, CANCELED), (complete, COMPLETED)]
)
def test_a_repeated_command_changes_nothing(command: Command, slice_: Slice) -> None:
    assert command(slice_) == Step(slice_)


@pytest.mark.parametrize(
    ("command", "slice_", "complaint"),
    [
        (cancel, STARTED, "has started and cannot be canceled"),
        (cancel, STUCK, "has started and cannot be canceled"),
        (cancel, COMPLETED, "COMPLETED"),
        (cancel, FAILED, "FAILED"),
        (complete, SCHEDULED, "has not started; cancel it"),
        (complete, CANCELED, "CANCELED"),
        (complete, FAILED, "FAILED"),
        (retry, SCHEDULED, "SCHEDULED"),
        (retry, STARTED, "not stuck"),
        (retry, COMPLETED, "COMPLETED"),
        (retry, CANCELED, "CANCELED"),
        (retry, FAILED, "FAILED"),
        (close, SCHEDULED, "SCHEDULED"),
        (close, STARTED, "not stuck"),
        (close, COMPLETED, "COMPLETED"),
        (close, CANCELED, "CANCELED"),
        (close, FAILED, "FAILED"),
    ],
)
def test_an_impossible_command_is_refused_with_the_reason(
    command: Command, slice_: Slice, complaint: str
) -> None:
    with pytest.raises(TooLate, match=complaint):
        command(slice_)


@pytest.mark.parametrize("command", [cancel, complete, retry, close])
def test_an_unknown_maintenance_is_not_found(command: Command) -> None:
    with pytest.raises(NotFound, match="m0"):
        command(a_slice())


# --- cancel ------------------------------------------------------------------


def test_canceling_removes_the_event_and_records_the_reason() -> None:
    step = cancel(SCHEDULED)
    canceled, published = step.facts
    assert canceled == f.Canceled(at=NOON, by="ops", maintenance="m0", reason="rain")
    assert isinstance(published, f.Published)
    assert step.slice.maintenance("m0").ended_at == NOON


# --- complete ----------------------------------------------------------------


def test_complete_ends_the_work_and_the_duration() -> None:
    hour = a_slice(maintenances=[a_maintenance(phase=Phase.STARTED, duration=3600)])
    step = complete(hour)
    maintenance = step.slice.maintenance("m0")
    assert maintenance.to_do == ()
    assert next_moment(maintenance, NOON, RULES) == NOON + 5 * SECOND
    done = commands.tick(step.slice, a_context(NOON + 5 * SECOND))
    assert done.slice.maintenance("m0").phase is Phase.COMPLETED


def test_complete_ends_immediately_after_the_minimum_display_time() -> None:
    step = commands.complete(STARTED, a_context(NOON + 5 * SECOND), "m0")
    assert [type(fact) for fact in step.facts] == [
        f.WorkEnded,
        f.Completed,
        f.Published,
    ]


def test_a_second_complete_changes_nothing() -> None:
    once = complete(STARTED)
    assert complete(once.slice) == Step(once.slice)


def test_after_complete_the_driver_is_not_called_and_its_reports_are_ignored() -> None:
    ended = complete(STUCK).slice
    assert not commands.is_work_open(ended.maintenance("m0"), NOON, RULES)
    late = commands.report_work(ended, a_context(), "m0", vms=["vm0"], failed=True)
    assert late == Step(ended)


# --- retry and close ---------------------------------------------------------


def test_a_retry_runs_the_remaining_work() -> None:
    events = [an_event(resources=("vm0", "vm1"))]
    stuck = a_maintenance(
        phase=Phase.STARTED, events=events, done=("vm0",), stuck_since=NOON
    )
    retried = retry(a_slice(maintenances=[stuck])).slice.maintenance("m0")
    assert (retried.to_do, retried.stuck_since) == (("vm1",), None)
    assert commands.is_work_open(retried, NOON, RULES)


def test_a_retry_changes_no_document() -> None:
    assert [type(fact) for fact in retry(STUCK).facts] == [f.WorkRetried]


def test_close_gives_up_and_removes_the_event() -> None:
    step = commands.close(STUCK, a_context(NOON + MINUTE), "m0", reason="rain")
    closed, published = step.facts
    assert closed == f.Closed(
        at=NOON + MINUTE, by="ops", maintenance="m0", reason="rain"
    )
    assert isinstance(published, f.Published)
    maintenance = step.slice.maintenance("m0")
    assert (maintenance.ended_at, maintenance.stuck_since) == (NOON + MINUTE, None)
