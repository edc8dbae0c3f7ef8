"""Executor: runs hooks, approvals and readiness checks in threads.

Each has its own thread; the result is passed on to the agent.
"""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from forewarn.agent.config.plan import Hook, Plan
from forewarn.agent.events.observation import normalize_event_id
from forewarn.agent.events.progress import BeginHook
from forewarn.agent.events.state import EventState, HookOutcome, HookRun
from forewarn.agent.hooks.call import Cancellation, HookCall
from forewarn.agent.hooks.runner import HookResult, run_hook
from forewarn.client.service_clock import ServiceClock
from forewarn.errors import ForewarnError, Unreachable

_log = logging.getLogger("forewarn.agent")

_STOP_TIMEOUT = 5.0  # seconds for hooks to end when the agent stops


class ApprovalSender(Protocol):
    """Where approvals are sent: the client or a substitute."""

    def approve(self, *events: str) -> None:
        """Approve events."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class HookEnded:
    """A hook has ended."""

    event: str
    run: HookRun


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalResult:
    """The service accepted or rejected an approval."""

    event: str
    error: ForewarnError | None  # None if it was accepted


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadyResult:
    """Result of a readiness hook."""

    event: str
    is_ready: bool
    why: str  # the end of its output


ExecutorResult = HookEnded | ApprovalResult | ReadyResult


class Executor:
    """All work that the agent has started and that has not been reported as ended."""

    def __init__(
        self,
        plan: Plan,
        sender: ApprovalSender,
        clock: ServiceClock,
        deliver: Callable[[ExecutorResult], None],
    ) -> None:
        """Run the hooks of `plan`; pass each result to `deliver`."""
        self.name = plan.name or ""  # of this VM
        self._plan = plan
        self._sender = sender
        self._clock = clock
        self._deliver = deliver
        self._running: dict[str, tuple[str, Cancellation]] = {}  # event id, by token
        self._ready_checks: dict[str, Cancellation] = {}  # by event id
        self._threads: set[threading.Thread] = set()

    def running_tokens(self, event: str) -> frozenset[str]:
        """Return the tokens of the hooks that run for one event."""
        name = normalize_event_id(event)
        return frozenset(
            token
            for token, (its_event, _) in self._running.items()
            if its_event == name
        )

    @property
    def running_count(self) -> int:
        """The number of running hooks."""
        return len(self._running)

    def start_hook(self, state: EventState, order: BeginHook) -> None:
        """Start a hook."""
        name, call = normalize_event_id(state.id), self._call(state, order)
        self._running[order.run.token] = (name, call.cancellation)

        def run() -> ExecutorResult:
            return self._ended(state, order.run, self._run_hook(order.run.hook, call))

        def failure(why: str) -> ExecutorResult:
            failed = HookResult(
                outcome=HookOutcome.FAILED, reason=f"it cannot be run: {why}"
            )
            return self._ended(state, order.run, failed)

        self._start(run, failure)

    def cancel(self, token: str, reason: str) -> None:
        """End a running hook."""
        if token in self._running:
            self._running[token][1].cancel(reason)

    def forget(self, token: str) -> None:
        """Drop a hook whose end was processed."""
        self._running.pop(token, None)

    def send_approval(self, state: EventState) -> None:
        """Send the approval of the event."""

        def failure(why: str) -> ExecutorResult:
            return ApprovalResult(event=state.id, error=Unreachable(why))

        self._start(lambda: self._send(state), failure)

    def check_ready(self, state: EventState, order: BeginHook) -> None:
        """Start the readiness hook."""
        hook, call = order.run.hook, self._call(state, order)
        self._ready_checks[normalize_event_id(state.id)] = call.cancellation

        def failure(why: str) -> ExecutorResult:
            return ReadyResult(event=state.id, is_ready=False, why=why)

        self._start(lambda: self._check(state, hook, call), failure)

    def cancel_ready_check(self, event: str, reason: str) -> None:
        """End the readiness hook of an event if it is running."""
        if cancellation := self._ready_checks.pop(normalize_event_id(event), None):
            cancellation.cancel(reason)

    def stop(self, timeout: float = _STOP_TIMEOUT) -> None:
        """End every hook; wait at most `timeout` seconds for all threads."""
        running = [cancellation for _, cancellation in self._running.values()]
        for cancellation in (*running, *self._ready_checks.values()):
            cancellation.cancel("the agent is stopping")
        until = time.monotonic() + timeout
        for thread in [*self._threads]:
            thread.join(max(0.0, until - time.monotonic()))

    # --- in other threads ----------------------------------------------------

    def _ended(self, state: EventState, run: HookRun, result: HookResult) -> HookEnded:
        ended = replace(
            run,
            outcome=result.outcome,
            ended_at=self._clock.now(),
            tries=result.tries,
            code=result.code,
            output=result.output,
            reason=result.reason,
        )
        return HookEnded(event=state.id, run=ended)

    def _check(self, state: EventState, hook: str, call: HookCall) -> ReadyResult:
        result = self._run_hook(hook, call)
        is_ready = result.outcome is HookOutcome.DONE
        why = result.reason or result.output.strip()
        return ReadyResult(event=state.id, is_ready=is_ready, why=why)

    def _run_hook(self, name: str, call: HookCall) -> HookResult:
        hook: Hook | None = self._plan.hooks.get(name)
        if hook is None:
            reason = f"there is no hook {name} in the agent's file any more"
            return HookResult(outcome=HookOutcome.FAILED, reason=reason)
        kill_after = self._clock.real(self._plan.kill_after)
        return run_hook(hook, call, kill_after=kill_after)

    def _send(self, state: EventState) -> ApprovalResult:
        try:
            self._sender.approve(state.id)
        except ForewarnError as error:
            return ApprovalResult(event=state.id, error=error)
        return ApprovalResult(event=state.id, error=None)

    # --- starting ------------------------------------------------------------

    def _call(self, state: EventState, order: BeginHook) -> HookCall:
        deadline, clock = order.deadline, self._clock
        return HookCall(
            event=state.event,
            step=order.run.step,
            rule=state.course.rule if state.course else "",
            name=self.name,
            endpoint=self._plan.endpoint or "",
            token=order.run.token,
            times=order.run.times,
            deadline=deadline,
            seconds_left=lambda: clock.seconds_until(deadline) if deadline else None,
            wait_left=lambda: clock.wait_until(deadline) if deadline else None,
            rate=clock.rate,
        )

    def _start(
        self,
        work: Callable[[], ExecutorResult],
        failure: Callable[[str], ExecutorResult],
    ) -> None:
        """Run `work` in a thread; deliver its result, or that of `failure`."""

        def run() -> None:
            try:
                self._deliver(work())
            except Exception as error:  # the top of the thread
                _log.exception("this should not have happened")
                self._deliver(failure(str(error)))
            finally:
                self._threads.discard(thread)

        thread = threading.Thread(target=run, daemon=True)
        self._threads.add(thread)
        try:
            thread.start()
        except RuntimeError as error:  # no memory, or too many threads
            self._threads.discard(thread)
            self._deliver(failure(str(error)))
