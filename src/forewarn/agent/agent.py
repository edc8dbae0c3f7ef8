"""Schedule of approvals and their retries; kept only while the agent runs.

Sending an approval twice is harmless, so none of this is stored.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import assert_never

from forewarn.agent.audit.entries import AuditEntry, event_entry
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
    HookEnded,
    ReadyResult,
    Report,
)
from forewarn.agent.identity import LocalVm
from forewarn.agent.poller import DocumentRead, Look, NameLearned, ReadFailed
from forewarn.agent.storage.memory import StateMemory
from forewarn.agent.telemetry.impact import ClockJumpDetector, FreezeDetector
from forewarn.agent.telemetry.recorder import AgentRecorder
from forewarn.client.retries import delay
from forewarn.client.service_clock import ServiceClock
from forewarn.errors import ForewarnError
from forewarn.protocol.types import Document

_NEVER = float("inf")
_RELUCTANT = 300.0  # seconds until a rejected approval is retried


_BLANKS = 3  # consecutive empty responses that mean "no events"
_SHORT, _LONG = 1.0, 10.0  # seconds between two turns: if something waits; if not


@dataclass(slots=True)
class _State:
    due: float = 0.0  # on the monotonic clock
    failures: int = 0
    is_ready: bool = False  # a hook reported that everyone is ready


class ApprovalRetries:
    """Pending approvals, by event."""

    def __init__(self) -> None:
        """Start without any."""
        self._states: dict[str, _State] = {}

    def take(self, event: str, now: float) -> bool:
        """Return whether an approval or a readiness check is due.

        If it is, nothing is due for the event until its result is reported.
        """
        state = self._states.setdefault(event, _State())
        if state.due > now:
            return False
        state.due = _NEVER
        return True

    def is_ready(self, event: str) -> bool:
        """Return whether the readiness hook succeeded."""
        return event in self._states and self._states[event].is_ready

    def told(self, event: str, *, is_ready: bool, again_at: float) -> None:
        """Store the result of a readiness check; if negative, retry `again_at`."""
        state = self._states.get(event)
        if state is None:
            return  # it was forgotten meanwhile
        state.is_ready = is_ready
        state.due = 0.0 if is_ready else again_at

    def again(self, event: str) -> None:
        """Make an approval due again that was not sent after all."""
        self._states[event].due = 0.0

    def refused(self, event: str, error: ForewarnError, now: float) -> None:
        """Schedule the retry of a failed approval."""
        state = self._states.get(event)
        if state is None:
            return
        pause = delay(error, state.failures)
        state.failures += 1
        state.due = now + (_RELUCTANT if pause is None else pause)

    def forget(self, event: str) -> None:
        """Drop an event that needs no approval any more."""
        self._states.pop(event, None)

    @property
    def next_due(self) -> float:
        """When the next one is due, on the monotonic clock."""
        return min((state.due for state in self._states.values()), default=_NEVER)


@dataclass(frozen=True, slots=True)
class Stop:
    """Request to end the agent."""


Item = Look | Report | Stop


class Agent:
    """Follows this VM's events and runs the hooks and approvals for them."""

    def __init__(
        self,
        plan: Plan,
        *,
        local_vm: LocalVm,
        clock: ServiceClock,
        states: StateMemory,
        recorder: AgentRecorder,
        freeze_detector: FreezeDetector,
        beat: Callable[[], float],
        boot: str,
        impact: Impact,
        token: Callable[[], str],
        is_dry: bool = False,
    ) -> None:
        """Set up the agent to follow `plan`; nothing starts before `run`.

        `beat` is called in every turn and returns the seconds until the next call.
        `felt` is the downtime of this VM since the agent last ran.
        """
        self._plan = plan
        self._local_vm = local_vm
        self._clock = clock
        self._states = states
        self._recorder = recorder
        self._freeze_detector = freeze_detector
        self._beat = beat
        self._boot = boot
        self._impact = impact
        self._token = token
        self._is_dry = is_dry
        self._ahead = ClockJumpDetector()
        self._approvals = ApprovalRetries()
        self._held: dict[str, str] = {}  # latest reason for not approving, by event
        self._blanks = 0
        self._was_away = True  # it was not running before
        self._document: Document | None = None  # None before the first one
        self._has_looked = False  # or has waited long enough for a document
        self._stops = False
        self.inbox: SimpleQueue[Item] = SimpleQueue()

    def run(self, executor: Executor) -> None:
        """Process the inbox until a `Stop` arrives."""
        while not self._stops:
            self.turn(executor, self._pause())

    def turn(self, executor: Executor, pause: float = 0.0) -> None:
        """Wait at most `pause` seconds for an item, then do everything that is due."""
        items = self._taken(pause)
        for item in items:
            self._take(item, executor)
        if not items or any(
            isinstance(received, DocumentRead | ReadFailed) for received in items
        ):
            self._has_looked = True
        self._states.retry_unsaved()
        if self._stops:
            return
        for state in self._states.unfinished():
            if self._may_go_on(state):
                self._go_on(state, executor)
        self._states.delete_old(self._clock.now())
        self._watch_over()
        self._recorder.show(self._states.by_id.values(), running=executor.count)

    def _taken(self, pause: float) -> Sequence[Item]:
        """Return all items in the inbox; wait up to `pause` seconds for one."""
        items: list[Item] = []
        try:
            items.append(self.inbox.get(timeout=max(pause, 0.001)))
            while True:
                items.append(self.inbox.get_nowait())
        except Empty:
            return items

    def _pause(self) -> float:
        """Call `beat`; return the seconds until something is due."""
        beat = min(self._beat(), _LONG)
        if self._states.has_unsaved:
            return min(beat, _SHORT)
        due = self._approvals.next_due - time.monotonic()
        return max(0.0, min(due, beat))

    # --- inbox ------------------------------------------------------------------------

    def _take(self, item: Item, executor: Executor) -> None:
        match item:
            case DocumentRead():
                self._saw(item)
            case ReadFailed():
                self._was_away = True
                self._recorder.lost(item.error)
            case NameLearned():
                executor.name = self._named(item)
            case HookEnded():
                executor.forget(item.run.token)
                self._ended(item)
            case ApprovalResult():
                self._answered(item)
            case ReadyResult():
                self._told(item)
            case Stop():
                self._stops = True
            case _:
                assert_never(item)

    def _named(self, item: NameLearned) -> str:
        name = self._local_vm.learn(item.name)
        self._recorder.named(name)
        if self._document is None:
            self._recorder.name_fits(self._local_vm.mismatch(None))
        else:
            self._see(self._document)  # it may name this VM after all
        return name

    def _saw(self, saw: DocumentRead) -> None:
        reading, impact = saw.reading, self._freeze_detector.taken()
        if reading.reckoning is not None:
            self._clock.hear(reading.reckoning)
            impact = self._ahead.heard(reading.reckoning, impact)
        self._impact += impact.scaled(self._clock.rate)  # as announced durations are
        self._recorder.saw(reading)
        self._blanks = self._blanks + 1 if reading.is_blank else 0
        if 0 < self._blanks < _BLANKS and any(self._states.live()):
            return  # it may mean "no change"
        if reading.document is not None:
            self._see(reading.document)
        self._was_away = False

    def _see(self, document: Document) -> None:
        self._document = document
        self._recorder.name_fits(self._local_vm.mismatch(document))
        observation = Observation(
            now=self._clock.now(),
            boot=self._boot,
            position=self._local_vm.position,
            decide=self._local_vm.decide,
            impact=self._impact,
            was_away=self._was_away,
        )
        self._impact = NO_IMPACT
        observed = observe(self._states.by_id, document, observation)
        for state in observed.states:
            self._states.put(state)
        self._write(observed.entries)

    def _ended(self, item: HookEnded) -> None:
        state = self._states.find(item.event)
        if state is None or (self._stops and item.run.outcome is not HookOutcome.DONE):
            return  # a hook that was cut because the agent stops runs again
        self._put(progress.end_hook(state, item.run, self._clock.now()))

    def _answered(self, item: ApprovalResult) -> None:
        state = self._states.find(item.event)
        if state is None:
            return
        if item.error is None:
            self._approvals.forget(normalize_event_id(item.event))
            self._put(progress.mark_approved(state, "200", self._clock.now()))
            return
        self._approvals.refused(
            normalize_event_id(item.event), item.error, time.monotonic()
        )
        self._recorder.not_taken(item.error)
        self._hold(state, str(item.error), what="approval-failed")

    def _told(self, item: ReadyResult) -> None:
        again_at = time.monotonic() + self._clock.real(self._plan.ready_every)
        self._approvals.told(
            normalize_event_id(item.event), is_ready=item.is_ready, again_at=again_at
        )
        state = self._states.find(item.event)
        if self._stops or state is None or item.is_ready:
            return
        if progress.is_scheduled(state):
            self._hold(state, f"not all are ready: {item.why}")

    # --- decisions --------------------------------------------------------------------

    def _may_go_on(self, state: EventState) -> bool:
        """Return whether the agent may act on an event yet.

        Until the first document, an event may already be over. Even an event that
        surely waits is held until a response has set the clock or the service has
        failed to respond.
        """
        may_wait = state.boot == self._boot and progress.is_scheduled(state)
        return self._document is not None or (self._has_looked and may_wait)

    def _go_on(self, state: EventState, executor: Executor) -> None:
        running = executor.running(state.id)
        context = EventContext(
            now=self._clock.now(),
            running=running,
            token=self._token,
            reserve=self._plan.reserve,
            is_dry=self._is_dry,
        )
        step = progress.advance(state, context)
        self._put(step)
        for order in step.orders:
            match order:
                case BeginHook():
                    executor.begin(step.state, order)
                case CancelHook():
                    executor.cut(order.token, order.reason)
                case CheckReady() | PostApproval():
                    self._approve(step.state, order, context, executor)
                case _:
                    assert_never(order)
        if not progress.is_scheduled(state):
            self._approvals.forget(normalize_event_id(state.id))
            executor.ask_no_more(state.id, progress.CANCEL_REASONS[state.seen])
        elif not step.orders and not running:
            self._hold(step.state, progress.why_not_approved(step.state))

    def _approve(
        self,
        state: EventState,
        order: CheckReady | PostApproval,
        context: EventContext,
        executor: Executor,
    ) -> None:
        """Send the approval if it is due and its reason is on disk."""
        name = normalize_event_id(state.id)
        if not self._states.is_saved(state):
            return
        if not self._approvals.take(name, time.monotonic()):
            return
        if isinstance(order, CheckReady) and not self._approvals.is_ready(name):
            executor.ask_ready(state, progress.ready_check(state, order.hook, context))
            return
        step = progress.mark_posted(state, context.now)
        self._put(step)
        if self._states.is_saved(step.state):
            executor.post(step.state)
        else:
            self._approvals.again(name)

    def _hold(
        self, state: EventState, reason: str | None, what: str = "not-approved"
    ) -> None:
        """Write down why an event is not approved, once for each reason."""
        name = normalize_event_id(state.id)
        if state.approved_at is None and reason and self._held.get(name) != reason:
            self._held[name] = reason
            self._write([event_entry(what, state, self._clock.now(), reason=reason)])

    def _put(self, step: EventStep) -> None:
        self._states.put(step.state)
        self._write(step.entries)
        if step.state.over_at is not None:
            self._held.pop(normalize_event_id(step.state.id), None)
            self._approvals.forget(normalize_event_id(step.state.id))

    def _write(self, entries: Iterable[AuditEntry]) -> None:
        self._recorder.write(entries, self._states.find)

    def _watch_over(self) -> None:
        """Measure downtime of this VM while an event may cause it."""
        now = self._clock.now()
        if any(progress.is_near(state, now) for state in self._states.live()):
            self._freeze_detector.watch()
        else:
            self._freeze_detector.rest()
