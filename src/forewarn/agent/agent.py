"""Agent loop: follows this VM's events and decides when to send approvals.

1. The inbox receives everything: documents from the poller, results from the executor,
   and the stop request. Only this thread changes event states.
2. A state is saved before the agent acts on it. If the disk is full, hooks still run,
   but nothing is approved. If another agent takes over the state directory, this agent
   stops.
3. Retries of approvals are not stored, because approving twice is harmless.
4. The number of simultaneous hooks and approvals is limited, and the most urgent events
   go first. The poller waits until its last result is processed. Resource use on this
   VM therefore stays limited, no matter how many events the service shows.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from queue import Empty, SimpleQueue
from threading import Semaphore
from typing import assert_never

from forewarn.agent.audit import entries as e
from forewarn.agent.config.plan import Plan
from forewarn.agent.events import progress
from forewarn.agent.events.observation import Observation, normalize_event_id, observe
from forewarn.agent.events.progress import (
    BeginHook,
    CancelHook,
    CheckReady,
    EventContext,
    EventStep,
    PostApproval,
)
from forewarn.agent.events.state import NO_IMPACT, EventState, HookOutcome, Impact
from forewarn.agent.hooks.executor import (
    ApprovalResult,
    Executor,
    ExecutorResult,
    HookEnded,
    ReadyResult,
)
from forewarn.agent.identity import VmIdentity
from forewarn.agent.poller import NameLearned, PollResult, ReadFailed
from forewarn.agent.storage.memory import StateMemory
from forewarn.agent.telemetry.impact import ClockJumpDetector, FreezeDetector
from forewarn.agent.telemetry.recorder import AgentRecorder
from forewarn.client.responses import Reading
from forewarn.client.retries import delay
from forewarn.client.service_clock import ServiceClock
from forewarn.errors import ForewarnError
from forewarn.protocol.types import Document

_NEVER = float("inf")
_REJECTED_PAUSE = 300.0  # seconds until a rejected approval is retried
_BLANKS = 3  # consecutive empty responses that mean "no events"
_SHORT, _LONG = 1.0, 10.0  # seconds between two turns, with and without work waiting


@dataclass(frozen=True, slots=True)
class Stop:
    """A request to stop the agent."""


Message = PollResult | ExecutorResult | Stop


class Agent:
    """Follows this VM's events and runs their hooks and approvals."""

    def __init__(
        self,
        plan: Plan,
        *,
        identity: VmIdentity,
        clock: ServiceClock,
        states: StateMemory,
        recorder: AgentRecorder,
        freeze_detector: FreezeDetector,
        heartbeat: Callable[[], float],
        boot: str,
        impact: Impact,
        token: Callable[[], str],
        is_dry: bool = False,
    ) -> None:
        """Create an agent that follows `plan`; nothing starts until `run` is called.

        `heartbeat` is called in every turn and returns the seconds until the next call.
        `impact` is this VM's downtime since the agent last ran.
        """
        self._plan = plan
        self._identity = identity
        self._clock = clock
        self._states = states
        self._recorder = recorder
        self._freeze_detector = freeze_detector
        self._heartbeat = heartbeat
        self._boot = boot
        self._impact = impact
        self._token = token
        self._is_dry = is_dry
        self._clock_jumps = ClockJumpDetector()
        self._approvals = ApprovalRetries()
        self._hold_reasons: dict[str, str] = {}  # why not, keyed by event ID
        self._blanks = 0
        self._was_away = True  # whether the agent was not running before
        self._document: Document | None = None  # None before the first one
        self._has_ignored = False  # whether the document has untracked events
        self._has_polled = False  # whether the first poll has ended or took too long
        self._is_stopping = False
        self.inbox: SimpleQueue[Message] = SimpleQueue()
        self._poll_processed = Semaphore()

    def deliver_poll(self, result: PollResult) -> None:
        """Pass on a poll result once the agent has processed the previous one."""
        self._poll_processed.acquire()
        self.inbox.put(result)

    def run(self, executor: Executor) -> None:
        """Process the inbox until stopped or until another agent takes over."""
        while not self._is_stopping:
            self.turn(executor, self._pause(executor))

    def turn(self, executor: Executor, pause: float = 0.0) -> None:
        """Wait at most `pause` seconds for a message, then do what is due."""
        messages = self._receive(pause)
        if self._states.is_taken:  # another agent is acting on the same events
            self._is_stopping = True
            return
        for message in messages:
            self._handle(message, executor)
        if not messages or any(
            isinstance(message, Reading | ReadFailed) for message in messages
        ):
            self._has_polled = True
        self._states.retry_unsaved()
        if self._is_stopping:
            return
        waiting = 0
        for state in sorted(self._states.unfinished(), key=progress.urgency):
            if self._can_advance(state):
                waiting += self._advance(state, executor)
        self._recorder.hooks_waiting(waiting, self._plan.hooks_at_once)
        self._states.delete_old(self._clock.now())
        self._watch_for_freezes()
        self._recorder.update_gauges(
            self._states.by_id.values(), running=executor.running_count
        )

    def _receive(self, pause: float) -> Sequence[Message]:
        """Return all messages in the inbox; wait up to `pause` seconds for one."""
        messages: list[Message] = []
        try:
            messages.append(self.inbox.get(timeout=max(pause, 0.001)))
            while True:
                messages.append(self.inbox.get_nowait())
        except Empty:
            return messages

    def _pause(self, executor: Executor) -> float:
        """Send the heartbeat; return the seconds until something is due."""
        pause = min(self._heartbeat(), _LONG)
        if self._states.has_unsaved:
            return min(pause, _SHORT)
        if not executor.can_approve or not executor.free_slots:
            return min(pause, _SHORT)  # a result that arrives earlier ends the wait
        due = self._approvals.next_due - time.monotonic()
        return max(0.0, min(due, pause))

    # --- inbox ---------------------------------------------------------------

    def _handle(self, message: Message, executor: Executor) -> None:
        match message:
            case Stop():
                self._is_stopping = True
            case Reading() | ReadFailed() | NameLearned():
                self._handle_poll(message, executor)
                self._poll_processed.release()
            case HookEnded() | ApprovalResult() | ReadyResult():
                executor.forget(message)
                self._handle_result(message)
            case _:
                assert_never(message)

    def _handle_poll(self, message: PollResult, executor: Executor) -> None:
        match message:
            case Reading():
                self._document_read(message)
            case ReadFailed():
                self._was_away = True
                self._recorder.read_failed(message.error)
            case NameLearned():
                self._name_learned(message)
                executor.name = self._identity.name or ""
            case _:
                assert_never(message)

    def _handle_result(self, message: ExecutorResult) -> None:
        match message:
            case HookEnded():
                self._hook_ended(message)
            case ApprovalResult():
                self._approval_result(message)
            case ReadyResult():
                self._ready_result(message)
            case _:
                assert_never(message)

    def _name_learned(self, message: NameLearned) -> None:
        if message.name is not None:
            self._identity = replace(self._identity, compute_name=message.name)
        self._recorder.name_learned(self._identity.name or "")
        if self._document is None:
            self._recorder.name_checked(self._identity.mismatch(None))
        else:
            self._observe(self._document)  # it may list this VM under the new name

    def _document_read(self, reading: Reading) -> None:
        impact = self._freeze_detector.take()
        if reading.reckoning is not None:
            self._clock.update(reading.reckoning)
            impact = self._clock_jumps.add(reading.reckoning, impact)
        self._impact += impact.scaled(self._clock.rate)  # in service seconds
        self._recorder.document_read(reading)
        self._blanks = self._blanks + 1 if reading.is_blank else 0
        if 0 < self._blanks < _BLANKS and any(self._states.live()):
            return  # an empty body may mean "no change"
        document = reading.document
        if document is None and self._has_ignored:
            document = self._document  # there may be room now
        if document is not None:
            self._observe(document)
        self._was_away = False

    def _observe(self, document: Document) -> None:
        self._document = document
        self._recorder.name_checked(self._identity.mismatch(document))
        observation = Observation(
            now=self._clock.now(),
            boot=self._boot,
            identity=self._identity,
            rules=self._plan.rules,
            impact=self._impact,
            was_away=self._was_away,
        )
        self._impact = NO_IMPACT
        observed = observe(self._states.by_id, document, observation)
        for name in observed.evicted:
            self._states.delete(name)
            self._forget(name)
        for state in observed.states:
            self._states.put(state)
        self._has_ignored = observed.ignored > 0
        self._recorder.events_ignored(observed.ignored)
        self._write(observed.entries)

    def _hook_ended(self, message: HookEnded) -> None:
        state = self._states.find(message.event)
        if state is None or (
            self._is_stopping and message.run.outcome is not HookOutcome.DONE
        ):
            return  # a hook canceled because the agent stops will run again
        self._save(progress.end_hook(state, message.run, self._clock.now()))

    def _approval_result(self, message: ApprovalResult) -> None:
        state = self._states.find(message.event)
        if state is None:
            return
        if message.error is None:
            self._approvals.forget(normalize_event_id(message.event))
            self._save(progress.mark_approved(state, self._clock.now()))
            return
        self._approvals.failed(
            normalize_event_id(message.event), message.error, time.monotonic()
        )
        self._recorder.approval_failed(message.error)
        self._hold(state, str(message.error), kind=e.ApprovalFailedEntry)

    def _ready_result(self, message: ReadyResult) -> None:
        retry_at = time.monotonic() + self._clock.real(self._plan.ready_every)
        self._approvals.set_ready(
            normalize_event_id(message.event),
            is_ready=message.is_ready,
            retry_at=retry_at,
        )
        state = self._states.find(message.event)
        if self._is_stopping or state is None or message.is_ready:
            return
        if progress.is_scheduled(state):
            self._hold(state, f"not all VMs are ready: {message.why}")

    # --- decisions -----------------------------------------------------------

    def _can_advance(self, state: EventState) -> bool:
        """Return whether the agent may act on an event yet.

        Before the first document arrives, the agent acts only on events last seen as
        Scheduled during the current boot, because other events may already have ended.
        Before acting, the agent also waits until a response has set the clock or the
        service has failed to respond.
        """
        may_wait = state.boot == self._boot and progress.is_scheduled(state)
        return self._document is not None or (self._has_polled and may_wait)

    def _advance(self, state: EventState, executor: Executor) -> int:
        """Do what is due for one event; return how many hooks are waiting."""
        running = executor.running_tokens(state.id)
        context = EventContext(
            now=self._clock.now(),
            running=running,
            token=self._token,
            reserve=self._plan.reserve,
            slots=executor.free_slots,
            is_dry=self._is_dry,
        )
        step = progress.advance(state, context)
        self._save(step)
        for order in step.orders:
            match order:
                case BeginHook():
                    executor.start_hook(step.state, order)
                case CancelHook():
                    executor.cancel(order.token, order.reason)
                case CheckReady() | PostApproval():
                    self._approve(step.state, order, context, executor)
                case _:
                    assert_never(order)
        if not progress.is_scheduled(state):
            self._approvals.forget(normalize_event_id(state.id))
            executor.cancel_ready_check(state.id, progress.CANCEL_REASONS[state.seen])
        elif not step.orders and not running:
            waits = (
                "its hooks are waiting for other hooks to finish (hooks_at_once is"
                f" {self._plan.hooks_at_once})"
            )
            why = progress.why_not_approved(step.state)
            self._hold(step.state, waits if step.waiting else why)
        return step.waiting

    def _approve(
        self,
        state: EventState,
        order: CheckReady | PostApproval,
        context: EventContext,
        executor: Executor,
    ) -> None:
        """Send the approval if it is due and the event's state is on disk."""
        name = normalize_event_id(state.id)
        needs_check = isinstance(order, CheckReady)
        needs_check = needs_check and not self._approvals.is_ready(name)
        has_slot = executor.free_slots if needs_check else executor.can_approve
        if not has_slot or not self._states.is_saved(state):
            return
        if not self._approvals.claim(name, time.monotonic()):
            return
        if isinstance(order, CheckReady) and needs_check:
            executor.check_ready(
                state, progress.ready_check(state, order.hook, context)
            )
            return
        step = progress.mark_posted(state, context.now)
        self._save(step)
        if self._states.is_saved(step.state):
            executor.send_approval(step.state)
        else:
            self._approvals.make_due(name)

    def _hold(
        self,
        state: EventState,
        reason: str | None,
        kind: type[e.ApprovalFailedEntry | e.NotApprovedEntry] = e.NotApprovedEntry,
    ) -> None:
        """Record why an event is not approved, once for each reason."""
        name = normalize_event_id(state.id)
        if (
            state.approved_at is None
            and reason
            and self._hold_reasons.get(name) != reason
        ):
            if state.over_at is None:  # otherwise it would never be forgotten
                self._hold_reasons[name] = reason
            self._write([kind(at=self._clock.now(), event=state.id, reason=reason)])

    def _save(self, step: EventStep) -> None:
        self._states.put(step.state)
        self._write(step.entries)
        if step.state.over_at is not None:
            self._forget(normalize_event_id(step.state.id))

    def _forget(self, name: str) -> None:
        self._hold_reasons.pop(name, None)
        self._approvals.forget(name)

    def _write(self, entries: Iterable[e.AuditEntry]) -> None:
        self._recorder.write(entries, self._states.find)

    def _watch_for_freezes(self) -> None:
        """Watch for freezes only while an event may cause them."""
        now = self._clock.now()
        if any(progress.is_near(state, now) for state in self._states.live()):
            self._freeze_detector.start()
        else:
            self._freeze_detector.stop()


# --- approvals ---------------------------------------------------------------


@dataclass(slots=True)
class _Retry:
    due: float = 0.0  # on the monotonic clock
    failures: int = 0
    is_ready: bool = False  # a hook reported that all VMs are ready


class ApprovalRetries:
    """Pending approvals, keyed by event ID."""

    def __init__(self) -> None:
        """Create an instance without pending approvals."""
        self._retries: dict[str, _Retry] = {}

    def claim(self, event: str, now: float) -> bool:
        """Claim an approval or a readiness check if one is due; return whether it was.

        After a claim, nothing is due for the event until the result is reported.
        """
        retry = self._retries.setdefault(event, _Retry())
        if retry.due > now:
            return False
        retry.due = _NEVER
        return True

    def is_ready(self, event: str) -> bool:
        """Return whether the readiness hook succeeded."""
        return event in self._retries and self._retries[event].is_ready

    def set_ready(self, event: str, *, is_ready: bool, retry_at: float) -> None:
        """Store a readiness check's result; if negative, retry at `retry_at`."""
        retry = self._retries.get(event)
        if retry is None:
            return  # it was forgotten in the meantime
        retry.is_ready = is_ready
        retry.due = 0.0 if is_ready else retry_at

    def make_due(self, event: str) -> None:
        """Make an approval due again because it was not sent."""
        self._retries[event].due = 0.0

    def failed(self, event: str, error: ForewarnError, now: float) -> None:
        """Schedule the retry of a failed approval."""
        retry = self._retries.get(event)
        if retry is None:
            return
        pause = delay(error, retry.failures)
        retry.failures += 1
        retry.due = now + (_REJECTED_PAUSE if pause is None else pause)

    def forget(self, event: str) -> None:
        """Drop an event that no longer needs approval."""
        self._retries.pop(event, None)

    @property
    def next_due(self) -> float:
        """The monotonic time at which the next approval is due."""
        return min((retry.due for retry in self._retries.values()), default=_NEVER)
