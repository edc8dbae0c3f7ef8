"""Executor: hooks and approvals run in other threads and are reported."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from threading import Event

import pytest
from tests.agent.support.agent_loop import Approver, endless_hook
from tests.agent.support.events import MINUTE, NOON, a_run, a_state, an_event
from tests.agent.support.hook_builders import LONG, ON_AND_ON, ReadyPipe, sh

from forewarn.agent.config.plan import Plan
from forewarn.agent.events.progress import BeginHook
from forewarn.agent.events.state import HookOutcome
from forewarn.agent.hooks.executor import (
    ApprovalResult,
    Executor,
    ExecutorResult,
    HookEnded,
    ReadyResult,
)
from forewarn.client.service_clock import ClockEstimate, ServiceClock
from forewarn.errors import Refused, Unreachable


class ExecutorHarness:
    """An executor and its reports."""

    def __init__(self, text: str, approve: Callable[[str], None] | None = None) -> None:
        self.approver = Approver()
        self._reports: SimpleQueue[ExecutorResult] = SimpleQueue()
        clock = ServiceClock()
        clock.update(ClockEstimate(date=NOON, at=time.monotonic(), rate=0.0))
        plan = Plan(
            state=Path(),
            name="web-0",
            hooks={"drain": sh(text)},
        )
        self.executor = Executor(
            plan,
            approve or self.approver.approve,
            clock,
            self._reports.put,
            endpoint=lambda: "http://127.0.0.1:1",
        )

    def begin(self, hook: str = "drain", times: int = 1) -> None:
        run = a_run(hook, outcome=HookOutcome.RUNNING, times=times)
        self.executor.start_hook(a_state(), BeginHook(run=run, deadline=NOON + MINUTE))

    def check_ready(self) -> None:
        run = a_run(outcome=HookOutcome.RUNNING)
        self.executor.check_ready(a_state(), BeginHook(run=run, deadline=NOON + MINUTE))

    def report(self) -> ExecutorResult:
        return self._reports.get(timeout=LONG)


def test_a_hook_counts_as_running_until_its_end_is_processed() -> None:
    harness = ExecutorHarness("echo drained; exit 3")
    harness.begin()
    assert harness.executor.running_tokens("e1") == {"run-0"}
    assert harness.executor.running_tokens("E2") == frozenset()
    report = harness.report()
    assert isinstance(report, HookEnded)
    assert (report.event, report.run.outcome, report.run.code, report.run.tries) == (
        "E1",
        HookOutcome.FAILED,
        3,
        1,
    )
    assert report.run.output.strip() == "drained"
    assert report.run.ended_at == NOON
    assert harness.executor.running_count == 1
    harness.executor.forget(report)
    assert harness.executor.running_count == 0


def test_hooks_and_readiness_checks_share_the_slots() -> None:
    harness = ExecutorHarness("exit 0")
    harness.check_ready()
    assert harness.executor.free_slots == 7
    harness.executor.forget(harness.report())
    assert harness.executor.free_slots == 8


def test_a_hook_receives_the_event_of_its_call() -> None:
    names = ("RULE", "NAME", "SECONDS_LEFT", "ENDPOINT", "AGAIN")
    harness = ExecutorHarness(f"echo {' '.join(f'$FOREWARN_{name}' for name in names)}")
    harness.begin(times=2)
    report = harness.report()
    assert isinstance(report, HookEnded)
    assert report.run.output.split() == [
        "all",
        "web-0",
        "60",
        "http://127.0.0.1:1",
        "1",
    ]


def test_a_hook_removed_from_the_file_fails() -> None:
    harness = ExecutorHarness("exit 0")
    harness.begin("flush")
    report = harness.report()
    assert isinstance(report, HookEnded)
    assert report.run.outcome is HookOutcome.FAILED
    assert "hook flush is no longer" in report.run.reason


def test_a_hook_is_cut_with_a_reason(ready_pipe: ReadyPipe) -> None:
    harness = ExecutorHarness(endless_hook(ready_pipe))
    harness.begin()
    ready_pipe.read()
    harness.executor.cancel("run-of-another", "not this one")
    harness.executor.cancel("run-0", "the event has started")
    report = harness.report()
    assert isinstance(report, HookEnded)
    assert report.run.outcome is HookOutcome.CUT
    assert "the event has started" in report.run.reason


def test_stopping_ends_every_hook_and_waits_for_it(ready_pipe: ReadyPipe) -> None:
    harness = ExecutorHarness(endless_hook(ready_pipe))
    harness.begin()
    ready_pipe.read()
    harness.executor.stop()
    report = harness.report()
    assert isinstance(report, HookEnded)
    assert "the agent is stopping" in report.run.reason


@pytest.mark.parametrize(
    ("text", "is_ready", "why"),
    [("echo all drained", True, "all drained"), ("echo no; exit 1", False, "1")],
)
def test_a_readiness_check_does_not_count_as_a_hook(
    text: str, is_ready: bool, why: str
) -> None:
    harness = ExecutorHarness(text)
    harness.check_ready()
    assert harness.executor.running_count == 0
    report = harness.report()
    assert isinstance(report, ReadyResult)
    assert (report.event, report.is_ready) == ("E1", is_ready)
    assert why in report.why


def test_an_accepted_approval_is_reported() -> None:
    harness = ExecutorHarness("exit 0")
    harness.executor.send_approval(a_state())
    assert harness.report() == ApprovalResult(event="E1", error=None)
    assert harness.approver.approved == ["E1"]


def test_a_refused_approval_is_reported() -> None:
    harness = ExecutorHarness("exit 0")
    refused = Refused("no such event", status=400)
    harness.approver.refusals = [refused]
    harness.executor.send_approval(replace(a_state()))
    assert harness.report() == ApprovalResult(event="E1", error=refused)


def test_an_unexpected_error_is_reported_and_logged(
    caplog: pytest.LogCaptureFixture,
) -> None:
    harness = ExecutorHarness("exit 0")
    harness.approver.refusals = [ZeroDivisionError("of all things")]
    harness.executor.send_approval(a_state())
    report = harness.report()
    assert isinstance(report, ApprovalResult)
    assert str(report.error) == "of all things"
    assert "internal error" in caplog.text


# --- stopping, and missing threads -------------------------------------------


@pytest.mark.slow
def test_stopping_waits_no_longer_for_many_than_for_one() -> None:
    has_responded = Event()

    def approve(_: str) -> None:
        has_responded.wait()

    harness = ExecutorHarness("exit 0", approve)
    for number in range(10):
        harness.executor.send_approval(a_state(event=an_event(f"E{number}")))
    began = time.monotonic()
    harness.executor.stop(timeout=2)
    assert 2 <= time.monotonic() - began < 18  # less than for one after the other
    has_responded.set()


@pytest.mark.parametrize("is_stop", [True, False])
def test_a_readiness_check_is_ended(*, is_stop: bool) -> None:
    harness = ExecutorHarness(ON_AND_ON)
    harness.check_ready()
    if is_stop:
        harness.executor.stop()
    else:
        harness.executor.cancel_ready_check("e1", "the event is gone")
    report = harness.report()
    assert isinstance(report, ReadyResult)
    why = "the agent is stopping" if is_stop else "the event is gone"
    assert (report.is_ready, report.why) == (False, why)


@pytest.mark.usefixtures("no_threads")
def test_work_fails_if_no_thread_can_be_started() -> None:
    harness = ExecutorHarness("exit 0")
    harness.begin()
    ended = harness.report()
    assert isinstance(ended, HookEnded)
    assert (ended.run.outcome, ended.run.code) == (HookOutcome.FAILED, None)
    assert ended.run.reason == "could not start: can't start new thread"
    harness.check_ready()
    readiness = harness.report()
    assert isinstance(readiness, ReadyResult)
    assert not readiness.is_ready
    harness.executor.send_approval(a_state())
    answered = harness.report()
    assert isinstance(answered, ApprovalResult)
    assert isinstance(answered.error, Unreachable)
