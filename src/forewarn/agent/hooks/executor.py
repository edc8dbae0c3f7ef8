"""Executor: runs hooks, approvals and readiness checks in threads.

1. Each hook, approval or check runs in its own thread, which passes the result to the
   agent.
2. The number of threads is limited. A thread counts until the agent has processed its
   result. The agent then starts the hooks and approvals that were waiting.
"""

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import assert_never

from forewarn.agent.config.plan import Plan
from forewarn.agent.events.observation import normalize_event_id
from forewarn.agent.events.progress import BeginHook
from forewarn.agent.events.state import EventState, HookOutcome, HookRun
from forewarn.agent.hooks.call import Cancellation, HookCall
from forewarn.agent.hooks.runner import run_hook
from forewarn.client.service_clock import ServiceClock
from forewarn.errors import ForewarnError, Unreachable

_log = logging.getLogger("forewarn.agent")

_APPROVALS_AT_ONCE = 4
_STOP_TIMEOUT = 5.0  # seconds for hooks to end when the agent stops


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
    """The result of a readiness hook."""

    event: str
    token: str  # of its run
    is_ready: bool
    why: str  # the end of its output


ExecutorResult = HookEnded | ApprovalResult | ReadyResult


class Executor:
    """Runs work in threads and tracks it until the agent has processed the results."""

    def __init__(
        self,
        plan: Plan,
        approve: Callable[[str], None],
        clock: ServiceClock,
        deliver: Callable[[ExecutorResult], None],
        *,
        endpoint: Callable[[], str],
    ) -> None:
        """Create an executor for the hooks of `plan`; results are passed to `deliver`.

        `endpoint` returns the service's current base URL, which is passed to hooks.
        """
        self.name = plan.name or ""  # this VM's name
        self._plan = plan
        self._approve = approve
        self._clock = clock
        self._deliver = deliver
        self._endpoint = endpoint
        self._running: dict[str, tuple[str, Cancellation]] = {}  # keyed by token
        self._ready_checks: dict[str, tuple[str, Cancellation]] = {}  # keyed by token
        self._approvals = 0  # number being sent
        self._threads: set[threading.Thread] = set()

    def running_tokens(self, event: str) -> frozenset[str]:
        """Return the tokens of running hooks for one event."""
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

    @property
    def free_slots(self) -> int:
        """The number of hooks and readiness checks that may start now."""
        busy = len(self._running) + len(self._ready_checks)
        return max(self._plan.hooks_at_once - busy, 0)

    @property
    def can_approve(self) -> bool:
        """Return whether another approval may be sent."""
        return self._approvals < _APPROVALS_AT_ONCE

    def start_hook(self, state: EventState, order: BeginHook) -> None:
        """Start a hook."""
        cancellation = Cancellation()
        self._running[order.run.token] = (normalize_event_id(state.id), cancellation)

        def result(run: HookRun) -> ExecutorResult:
            return HookEnded(event=state.id, run=run)

        self._start_hook(state, order, cancellation, result)

    def cancel(self, token: str, reason: str) -> None:
        """End a running hook."""
        if token in self._running:
            self._running[token][1].cancel(reason)

    def forget(self, result: ExecutorResult) -> None:
        """Drop the work whose `result` was processed."""
        match result:
            case HookEnded():
                self._running.pop(result.run.token, None)
            case ReadyResult():
                self._ready_checks.pop(result.token, None)
            case ApprovalResult():
                self._approvals -= 1
            case _:
                assert_never(result)

    def send_approval(self, state: EventState) -> None:
        """Send the event's approval."""
        self._approvals += 1

        def send() -> ExecutorResult:
            try:
                self._approve(state.id)
            except ForewarnError as error:
                return ApprovalResult(event=state.id, error=error)
            return ApprovalResult(event=state.id, error=None)

        def failure(why: str) -> ExecutorResult:
            return ApprovalResult(event=state.id, error=Unreachable(why))

        self._start(send, failure)

    def check_ready(self, state: EventState, order: BeginHook) -> None:
        """Start the readiness hook."""
        cancellation, name = Cancellation(), normalize_event_id(state.id)
        self._ready_checks[order.run.token] = (name, cancellation)

        def result(run: HookRun) -> ExecutorResult:
            return ReadyResult(
                event=state.id,
                token=run.token,
                is_ready=run.outcome is HookOutcome.DONE,
                why=run.reason or run.output.strip(),
            )

        self._start_hook(state, order, cancellation, result)

    def cancel_ready_check(self, event: str, reason: str) -> None:
        """End an event's readiness hook if it is running."""
        name = normalize_event_id(event)
        for its_event, cancellation in self._ready_checks.values():
            if its_event == name:
                cancellation.cancel(reason)

    def stop(self, timeout: float = _STOP_TIMEOUT) -> None:
        """End all hooks; wait at most `timeout` seconds for the threads."""
        for _, cancellation in (*self._running.values(), *self._ready_checks.values()):
            cancellation.cancel("the agent is stopping")
        until = time.monotonic() + timeout
        for thread in [*self._threads]:
            thread.join(max(0.0, until - time.monotonic()))

    # --- threads -------------------------------------------------------------

    def _start_hook(
        self,
        state: EventState,
        order: BeginHook,
        cancellation: Cancellation,
        result: Callable[[HookRun], ExecutorResult],
    ) -> None:
        """Run a hook in a thread; deliver its run, converted by `result`."""
        hook = self._plan.hooks.get(order.run.hook)
        if hook is None:
            reason = f"hook {order.run.hook} is no longer in the agent's configuration"
            self._deliver(result(self._failed(order.run, reason)))
            return
        call = HookCall(
            hook=hook,
            run=order.run,
            event=state.event,
            rule=state.course.rule if state.course else "",
            name=self.name,
            endpoint=self._endpoint(),
            clock=self._clock,
            deadline=order.deadline,
            kill_after=self._plan.kill_after,
            cancellation=cancellation,
        )

        def failure(why: str) -> ExecutorResult:
            return result(self._failed(order.run, f"could not start: {why}"))

        self._start(lambda: result(run_hook(call)), failure)

    def _failed(self, run: HookRun, reason: str) -> HookRun:
        return replace(
            run, outcome=HookOutcome.FAILED, ended_at=self._clock.now(), reason=reason
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
            except Exception as error:  # top level of the thread
                _log.exception(
                    "internal error while running a hook or sending an approval"
                )
                self._deliver(failure(str(error)))
            finally:
                self._threads.discard(thread)

        thread = threading.Thread(target=run, daemon=True)
        self._threads.add(thread)
        try:
            thread.start()
        except RuntimeError as error:  # out of memory, or too many threads
            self._threads.discard(thread)
            self._deliver(failure(str(error)))
