"""Executor shutdown: pending approvals, readiness checks and missing threads."""

import threading
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from queue import SimpleQueue
from threading import Event

import pytest
from tests.agent.support.events import MINUTE, NOON, a_run, a_state, an_event
from tests.patience import PATIENCE

from forewarn.agent.config.plan import Hook, Plan
from forewarn.agent.events.progress import BeginHook
from forewarn.agent.events.state import NO_IMPACT, HookOutcome
from forewarn.agent.hooks.executor import (
    ApprovalResult,
    Executor,
    ExecutorResult,
    HookEnded,
    ReadyResult,
)
from forewarn.agent.telemetry.impact import AliveFile, ClockReading, FreezeDetector
from forewarn.client.service_clock import ServiceClock
from forewarn.errors import Unreachable

PLAN = Plan(
    state=Path("unused"),
    hooks={"sleep": Hook(name="sleep", command=("sleep", "60"))},
)


class UnresponsiveService:
    """A service that does not respond until it is released."""

    def __init__(self) -> None:
        self.answers = Event()

    def approve(self, *events: str) -> None:
        self.answers.wait()


@pytest.fixture
def service() -> Iterator[UnresponsiveService]:
    service = UnresponsiveService()
    yield service
    service.answers.set()


@pytest.fixture
def reports() -> SimpleQueue[ExecutorResult]:
    return SimpleQueue()


@pytest.fixture
def executor(
    service: UnresponsiveService, reports: SimpleQueue[ExecutorResult]
) -> Executor:
    return Executor(PLAN, service.approve, ServiceClock(), reports.put)


@pytest.mark.slow
def test_stopping_waits_no_longer_for_many_than_for_one(executor: Executor) -> None:
    for number in range(10):
        executor.send_approval(a_state(event=an_event(f"E{number}")))
    began = time.monotonic()
    executor.stop(timeout=2)
    assert 2 <= time.monotonic() - began < 18  # less than for one after the other


@pytest.mark.parametrize("is_stop", [True, False])
def test_a_readiness_check_is_ended(
    executor: Executor, reports: SimpleQueue[ExecutorResult], *, is_stop: bool
) -> None:
    question = BeginHook(run=a_run("sleep"), deadline=NOON.replace(year=2999) + MINUTE)
    executor.check_ready(a_state(), question)
    if is_stop:
        executor.stop()
    else:
        executor.cancel_ready_check("e1", "the event is gone")
    report = reports.get(timeout=PATIENCE)
    assert isinstance(report, ReadyResult)
    why = "the agent is stopping" if is_stop else "the event is gone"
    assert (report.is_ready, report.why) == (False, why)


@pytest.fixture
def no_threads() -> Iterator[None]:
    """Make threads request more memory than there is."""
    before = threading.stack_size(2**46)
    yield
    threading.stack_size(before)


@pytest.mark.usefixtures("no_threads")
def test_work_fails_if_no_thread_can_be_started(
    executor: Executor, reports: SimpleQueue[ExecutorResult]
) -> None:
    order = BeginHook(run=a_run("sleep", outcome=HookOutcome.RUNNING), deadline=NOON)
    executor.start_hook(a_state(), order)
    ended = reports.get_nowait()
    assert isinstance(ended, HookEnded)
    assert (ended.run.outcome, ended.run.code) == (HookOutcome.FAILED, None)
    assert ended.run.reason == "it cannot be run: can't start new thread"
    executor.check_ready(a_state(), order)
    readiness = reports.get_nowait()
    assert isinstance(readiness, ReadyResult)
    assert not readiness.is_ready
    executor.send_approval(a_state())
    answered = reports.get_nowait()
    assert isinstance(answered, ApprovalResult)
    assert isinstance(answered.error, Unreachable)


@pytest.mark.usefixtures("no_threads")
def test_without_a_thread_nothing_is_measured_and_nothing_breaks(
    tmp_path: Path,
) -> None:
    hours = count(step=3600.0)
    freeze_detector = FreezeDetector(
        AliveFile(tmp_path / "alive"),
        lambda: ClockReading(monotonic=next(hours), boottime=0.0),
    )
    freeze_detector.start()
    assert freeze_detector.take() == NO_IMPACT
    freeze_detector.stop()
