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

_LAST_WAIT = 5.0  # seconds for hooks to end when the agent stops


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


Report = HookEnded | ApprovalResult | ReadyResult


class Executor:
    """All work that the agent has started and that has not been reported as ended."""

    def __init__(
        self,
        plan: Plan,
        approver: ApprovalSender,
        clock: ServiceClock,
        hand_on: Callable[[Report], None],
    ) -> None:
        """Run the hooks of `plan`; pass each result to `hand_on`."""
        self.name = plan.name or ""  # of this VM
        self._plan = plan
        self._approver = approver
        self._clock = clock
        self._hand_on = hand_on
        self._running: dict[str, tuple[str, Cancellation]] = {}  # by token: event, cut
        self._questions: dict[
            str, Cancellation
        ] = {}  # running readiness hooks, by event
        self._threads: set[threading.Thread] = set()

    def running(self, event: str) -> frozenset[str]:
        """Return the tokens of the hooks that run for one event."""
        mine = normalize_event_id(event)
        return frozenset(
            token for token, (name, _) in self._running.items() if name == mine
        )

    @property
    def count(self) -> int:
        """The number of running hooks."""
        return len(self._running)

    def begin(self, state: EventState, order: BeginHook) -> None:
        """Start a hook."""
        cut = Cancellation()
        call = self._call(state, order, cut)
        self._running[order.run.token] = (normalize_event_id(state.id), cut)

        def without(why: str) -> Report:
            failed = HookResult(
                outcome=HookOutcome.FAILED, reason=f"it cannot be run: {why}"
            )
            return self._ended(state, order.run, failed)

        self._start(lambda: self._run(state, order.run, call), without)

    def cut(self, token: str, reason: str) -> None:
        """End a running hook."""
        if token in self._running:
            self._running[token][1].cut(reason)

    def forget(self, token: str) -> None:
        """Drop a hook whose end was processed."""
        self._running.pop(token, None)

    def post(self, state: EventState) -> None:
        """Send the approval of the event."""

        def without(why: str) -> Report:
            return ApprovalResult(event=state.id, error=Unreachable(why))

        self._start(lambda: self._post(state), without)

    def ask_ready(self, state: EventState, order: BeginHook) -> None:
        """Start the readiness hook."""
        cut = self._questions[normalize_event_id(state.id)] = Cancellation()
        hook, call = order.run.hook, self._call(state, order, cut)

        def without(why: str) -> Report:
            return ReadyResult(event=state.id, is_ready=False, why=why)

        self._start(lambda: self._ask(state, hook, call), without)

    def ask_no_more(self, event: str, reason: str) -> None:
        """End the readiness hook of an event if it is running."""
        if cut := self._questions.pop(normalize_event_id(event), None):
            cut.cut(reason)

    def stop(self, patience: float = _LAST_WAIT) -> None:
        """End every hook; wait at most `patience` seconds for all threads."""
        running = [cut for _, cut in self._running.values()]
        for cut in (*running, *self._questions.values()):
            cut.cut("the agent is stopping")
        until = time.monotonic() + patience
        for thread in [*self._threads]:
            thread.join(max(0.0, until - time.monotonic()))

    # --- in other threads -------------------------------------------------------------

    def _run(self, state: EventState, begun: HookRun, call: HookCall) -> Report:
        return self._ended(state, begun, self._carry_out(begun.hook, call))

    def _ended(self, state: EventState, begun: HookRun, done: HookResult) -> Report:
        ended = replace(
            begun,
            outcome=done.outcome,
            ended_at=self._clock.now(),
            tries=done.tries,
            code=done.code,
            output=done.output,
            reason=done.reason,
        )
        return HookEnded(event=state.id, run=ended)

    def _ask(self, state: EventState, hook: str, call: HookCall) -> Report:
        done = self._carry_out(hook, call)
        is_ready = done.outcome is HookOutcome.DONE
        why = done.reason or done.output.strip()
        return ReadyResult(event=state.id, is_ready=is_ready, why=why)

    def _carry_out(self, name: str, call: HookCall) -> HookResult:
        hook: Hook | None = self._plan.hooks.get(name)
        if hook is None:
            reason = f"there is no hook {name} in the agent's file any more"
            return HookResult(outcome=HookOutcome.FAILED, reason=reason)
        kill_after = self._clock.real(self._plan.kill_after)
        return run_hook(hook, call, kill_after=kill_after)

    def _post(self, state: EventState) -> Report:
        error: ForewarnError | None = None
        try:
            self._approver.approve(state.id)
        except ForewarnError as refused:
            error = refused
        return ApprovalResult(event=state.id, error=error)

    def _call(self, state: EventState, order: BeginHook, cut: Cancellation) -> HookCall:
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
            cut=cut,
        )

    def _start(
        self, do: Callable[[], Report], otherwise: Callable[[str], Report]
    ) -> None:
        """Run `do` in a thread; pass on its result, or `otherwise`'s if it fails."""

        def work() -> None:
            try:
                self._hand_on(do())
            except Exception as error:  # the top of the thread
                _log.exception("this should not have happened")
                self._hand_on(otherwise(str(error)))
            finally:
                self._threads.discard(thread)

        thread = threading.Thread(target=work, daemon=True)
        self._threads.add(thread)
        try:
            thread.start()
        except RuntimeError as error:  # no memory, or too many threads
            self._threads.discard(thread)
            self._hand_on(otherwise(str(error)))
