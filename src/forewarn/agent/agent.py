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
from forewarn.agent.events.state import UNTOUCHED, EventState, HookOutcome, Impact
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
        myself: LocalVm,
        clock: ServiceClock,
        memory: StateMemory,
        recording: AgentRecorder,
        pulse: FreezeDetector,
        beat: Callable[[], float],
        boot: str,
        felt: Impact,
        token: Callable[[], str],
        is_dry: bool = False,
    ) -> None:
        """Set up the agent to follow `plan`; nothing starts before `run`.

        `beat` is called in every turn and returns the seconds until the next call.
        `felt` is the downtime of this VM since the agent last ran.
        """
        self._plan = plan
        self._myself = myself
        self._clock = clock
        self._memory = memory
        self._recording = recording
        self._pulse = pulse
        self._beat = beat
        self._boot = boot
        self._felt = felt
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

    def run(self, hands: Executor) -> None:
        """Process the inbox until a `Stop` arrives."""
        while not self._stops:
            self.turn(hands, self._pause())

    def turn(self, hands: Executor, pause: float = 0.0) -> None:
        """Wait at most `pause` seconds for an item, then do everything that is due."""
        items = self._taken(pause)
        for item in items:
            self._take(item, hands)
        if not items or any(
            isinstance(received, DocumentRead | ReadFailed) for received in items
        ):
            self._has_looked = True
        self._memory.save_again()
        if self._stops:
            return
        for life in self._memory.unfinished():
            if self._may_go_on(life):
                self._go_on(life, hands)
        self._memory.forget_old(self._clock.now())
        self._watch_over()
        self._recording.show(self._memory.lives.values(), running=hands.count)

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
        if self._memory.is_full:
            return min(beat, _SHORT)
        due = self._approvals.next_due - time.monotonic()
        return max(0.0, min(due, beat))

    # --- inbox ------------------------------------------------------------------------

    def _take(self, item: Item, hands: Executor) -> None:
        match item:
            case DocumentRead():
                self._saw(item)
            case ReadFailed():
                self._was_away = True
                self._recording.lost(item.error)
            case NameLearned():
                hands.name = self._named(item)
            case HookEnded():
                hands.forget(item.run.token)
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
        name = self._myself.learn(item.name)
        self._recording.named(name)
        if self._document is None:
            self._recording.name_fits(self._myself.mismatch(None))
        else:
            self._see(self._document)  # it may name this VM after all
        return name

    def _saw(self, saw: DocumentRead) -> None:
        reading, felt = saw.reading, self._pulse.taken()
        if reading.reckoning is not None:
            self._clock.update(reading.reckoning)
            felt = self._ahead.heard(reading.reckoning, felt)
        self._felt += felt.scaled(self._clock.rate)  # as announced durations are
        self._recording.saw(reading)
        self._blanks = self._blanks + 1 if reading.is_blank else 0
        if 0 < self._blanks < _BLANKS and any(self._memory.live()):
            return  # it may mean "no change"
        if reading.document is not None:
            self._see(reading.document)
        self._was_away = False

    def _see(self, document: Document) -> None:
        self._document = document
        self._recording.name_fits(self._myself.mismatch(document))
        sight = Observation(
            now=self._clock.now(),
            boot=self._boot,
            position=self._myself.position,
            judge=self._myself.judge,
            felt=self._felt,
            was_away=self._was_away,
        )
        self._felt = UNTOUCHED
        sighted = observe(self._memory.lives, document, sight)
        for life in sighted.lives:
            self._memory.keep(life)
        self._write(sighted.notes)

    def _ended(self, item: HookEnded) -> None:
        life = self._memory.find(item.event)
        if life is None or (self._stops and item.run.outcome is not HookOutcome.DONE):
            return  # a hook that was cut because the agent stops runs again
        self._put(progress.end(life, item.run, self._clock.now()))

    def _answered(self, item: ApprovalResult) -> None:
        life = self._memory.find(item.event)
        if life is None:
            return
        if item.error is None:
            self._approvals.forget(normalize_event_id(item.event))
            self._put(progress.approve(life, "200", self._clock.now()))
            return
        self._approvals.refused(
            normalize_event_id(item.event), item.error, time.monotonic()
        )
        self._recording.not_taken(item.error)
        self._hold(life, str(item.error), what="approval-failed")

    def _told(self, item: ReadyResult) -> None:
        again_at = time.monotonic() + self._clock.real(self._plan.ready_every)
        self._approvals.told(
            normalize_event_id(item.event), is_ready=item.is_ready, again_at=again_at
        )
        life = self._memory.find(item.event)
        if self._stops or life is None or item.is_ready:
            return
        if progress.is_awaited(life):
            self._hold(life, f"not all are ready: {item.why}")

    # --- decisions --------------------------------------------------------------------

    def _may_go_on(self, life: EventState) -> bool:
        """Return whether the agent may act on an event yet.

        Until the first document, an event may already be over. Even an event that
        surely waits is held until a response has set the clock or the service has
        failed to respond.
        """
        may_wait = life.boot == self._boot and progress.is_awaited(life)
        return self._document is not None or (self._has_looked and may_wait)

    def _go_on(self, life: EventState, hands: Executor) -> None:
        running = hands.running(life.id)
        about = EventContext(
            now=self._clock.now(),
            running=running,
            token=self._token,
            reserve=self._plan.reserve,
            is_dry=self._is_dry,
        )
        step = progress.advance(life, about)
        self._put(step)
        for order in step.orders:
            match order:
                case BeginHook():
                    hands.begin(step.life, order)
                case CancelHook():
                    hands.cut(order.token, order.reason)
                case CheckReady() | PostApproval():
                    self._approve(step.life, order, about, hands)
                case _:
                    assert_never(order)
        if not progress.is_awaited(life):
            self._approvals.forget(normalize_event_id(life.id))
            hands.ask_no_more(life.id, progress.NEWS[life.seen])
        elif not step.orders and not running:
            self._hold(step.life, progress.not_approved(step.life))

    def _approve(
        self,
        life: EventState,
        order: CheckReady | PostApproval,
        about: EventContext,
        hands: Executor,
    ) -> None:
        """Send the approval if it is due and its reason is on disk."""
        name = normalize_event_id(life.id)
        if not self._memory.is_safe(life):
            return
        if not self._approvals.take(name, time.monotonic()):
            return
        if isinstance(order, CheckReady) and not self._approvals.is_ready(name):
            hands.ask_ready(life, progress.question(life, order.hook, about))
            return
        step = progress.post(life, about.now)
        self._put(step)
        if self._memory.is_safe(step.life):
            hands.post(step.life)
        else:
            self._approvals.again(name)

    def _hold(
        self, life: EventState, reason: str | None, what: str = "not-approved"
    ) -> None:
        """Write down why an event is not approved, once for each reason."""
        name = normalize_event_id(life.id)
        if life.approved_at is None and reason and self._held.get(name) != reason:
            self._held[name] = reason
            self._write([event_entry(what, life, self._clock.now(), reason=reason)])

    def _put(self, step: EventStep) -> None:
        self._memory.keep(step.life)
        self._write(step.notes)
        if step.life.over_at is not None:
            self._held.pop(normalize_event_id(step.life.id), None)
            self._approvals.forget(normalize_event_id(step.life.id))

    def _write(self, notes: Iterable[AuditEntry]) -> None:
        self._recording.write(notes, self._memory.find)

    def _watch_over(self) -> None:
        """Measure downtime of this VM while an event may cause it."""
        now = self._clock.now()
        if any(progress.is_near(life, now) for life in self._memory.live()):
            self._pulse.watch()
        else:
            self._pulse.rest()
