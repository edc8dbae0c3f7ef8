"""Agent loop: takes in what happens, decides, writes to disk, then acts.

1. One thread decides. Documents, finished hooks and responses to approvals reach it
   through one inbox. Anything that takes time runs in other threads.
2. The state of an event is on disk before the agent acts on it. If the disk cannot be
   written, hooks still run, because the event will not wait, but nothing is approved.
3. A problem is logged once when it begins and once when it is over.
"""

import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from queue import Empty, SimpleQueue
from typing import assert_never

from forewarn.agent import course
from forewarn.agent.approvals import Approvals
from forewarn.agent.clock import ServiceClock
from forewarn.agent.course import Advance, AskReady, Begin, Circumstances, Cut, Post
from forewarn.agent.eyes import Look, Lost, Named, Saw
from forewarn.agent.hands import Answered, Hands, HookEnded, ReadyTold, Report
from forewarn.agent.impact import Ahead, Pulse
from forewarn.agent.lives import UNTOUCHED, Impact, Life, Outcome
from forewarn.agent.memory import Memory
from forewarn.agent.myself import Myself
from forewarn.agent.notes import Note, note
from forewarn.agent.plan import Plan
from forewarn.agent.recording import Recording
from forewarn.agent.sighting import Sight, key, see
from forewarn.protocol.types import Document

_BLANKS = 3  # consecutive empty responses that mean "no events"
_SHORT, _LONG = 1.0, 10.0  # seconds between two turns: if something waits; if not


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
        myself: Myself,
        clock: ServiceClock,
        memory: Memory,
        recording: Recording,
        pulse: Pulse,
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
        self._ahead = Ahead()
        self._approvals = Approvals()
        self._held: dict[str, str] = {}  # latest reason for not approving, by event
        self._blanks = 0
        self._was_away = True  # it was not running before
        self._document: Document | None = None  # None before the first one
        self._has_looked = False  # or has waited long enough for a document
        self._stops = False
        self.inbox: SimpleQueue[Item] = SimpleQueue()

    def run(self, hands: Hands) -> None:
        """Process the inbox until a `Stop` arrives."""
        while not self._stops:
            self.turn(hands, self._pause())

    def turn(self, hands: Hands, pause: float = 0.0) -> None:
        """Wait at most `pause` seconds for an item, then do everything that is due."""
        items = self._taken(pause)
        for item in items:
            self._take(item, hands)
        if not items or any(isinstance(received, Saw | Lost) for received in items):
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

    def _take(self, item: Item, hands: Hands) -> None:
        match item:
            case Saw():
                self._saw(item)
            case Lost():
                self._was_away = True
                self._recording.lost(item.error)
            case Named():
                hands.name = self._named(item)
            case HookEnded():
                hands.forget(item.run.token)
                self._ended(item)
            case Answered():
                self._answered(item)
            case ReadyTold():
                self._told(item)
            case Stop():
                self._stops = True
            case _:
                assert_never(item)

    def _named(self, item: Named) -> str:
        name = self._myself.learn(item.name)
        self._recording.named(name)
        if self._document is None:
            self._recording.name_fits(self._myself.mismatch(None))
        else:
            self._see(self._document)  # it may name this VM after all
        return name

    def _saw(self, saw: Saw) -> None:
        reading, felt = saw.reading, self._pulse.taken()
        if reading.reckoning is not None:
            self._clock.hear(reading.reckoning)
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
        sight = Sight(
            now=self._clock.now(),
            boot=self._boot,
            position=self._myself.position,
            judge=self._myself.judge,
            felt=self._felt,
            was_away=self._was_away,
        )
        self._felt = UNTOUCHED
        sighted = see(self._memory.lives, document, sight)
        for life in sighted.lives:
            self._memory.keep(life)
        self._write(sighted.notes)

    def _ended(self, item: HookEnded) -> None:
        life = self._memory.find(item.event)
        if life is None or (self._stops and item.run.outcome is not Outcome.DONE):
            return  # a hook that was cut because the agent stops runs again
        self._put(course.end(life, item.run, self._clock.now()))

    def _answered(self, item: Answered) -> None:
        life = self._memory.find(item.event)
        if life is None:
            return
        if item.error is None:
            self._approvals.forget(key(item.event))
            self._put(course.approve(life, "200", self._clock.now()))
            return
        self._approvals.refused(key(item.event), item.error, time.monotonic())
        self._recording.not_taken(item.error)
        self._hold(life, str(item.error), what="approval-failed")

    def _told(self, item: ReadyTold) -> None:
        again_at = time.monotonic() + self._clock.real(self._plan.ready_every)
        self._approvals.told(key(item.event), is_ready=item.is_ready, again_at=again_at)
        life = self._memory.find(item.event)
        if self._stops or life is None or item.is_ready:
            return
        if course.is_awaited(life):
            self._hold(life, f"not all are ready: {item.why}")

    # --- decisions --------------------------------------------------------------------

    def _may_go_on(self, life: Life) -> bool:
        """Return whether the agent may act on an event yet.

        Until the first document, an event may already be over. Even an event that
        surely waits is held until a response has set the clock or the service has
        failed to respond.
        """
        may_wait = life.boot == self._boot and course.is_awaited(life)
        return self._document is not None or (self._has_looked and may_wait)

    def _go_on(self, life: Life, hands: Hands) -> None:
        running = hands.running(life.id)
        about = Circumstances(
            now=self._clock.now(),
            running=running,
            token=self._token,
            reserve=self._plan.reserve,
            is_dry=self._is_dry,
        )
        step = course.advance(life, about)
        self._put(step)
        for order in step.orders:
            match order:
                case Begin():
                    hands.begin(step.life, order)
                case Cut():
                    hands.cut(order.token, order.reason)
                case AskReady() | Post():
                    self._approve(step.life, order, about, hands)
                case _:
                    assert_never(order)
        if not course.is_awaited(life):
            self._approvals.forget(key(life.id))
            hands.ask_no_more(life.id, course.NEWS[life.seen])
        elif not step.orders and not running:
            self._hold(step.life, course.not_approved(step.life))

    def _approve(
        self, life: Life, order: AskReady | Post, about: Circumstances, hands: Hands
    ) -> None:
        """Send the approval if it is due and its reason is on disk."""
        name = key(life.id)
        if not self._memory.is_safe(life):
            return
        if not self._approvals.take(name, time.monotonic()):
            return
        if isinstance(order, AskReady) and not self._approvals.is_ready(name):
            hands.ask_ready(life, course.question(life, order.hook, about))
            return
        step = course.post(life, about.now)
        self._put(step)
        if self._memory.is_safe(step.life):
            hands.post(step.life)
        else:
            self._approvals.again(name)

    def _hold(self, life: Life, reason: str | None, what: str = "not-approved") -> None:
        """Write down why an event is not approved, once for each reason."""
        name = key(life.id)
        if life.approved_at is None and reason and self._held.get(name) != reason:
            self._held[name] = reason
            self._write([note(what, life, self._clock.now(), reason=reason)])

    def _put(self, step: Advance) -> None:
        self._memory.keep(step.life)
        self._write(step.notes)
        if step.life.over_at is not None:
            self._held.pop(key(step.life.id), None)
            self._approvals.forget(key(step.life.id))

    def _write(self, notes: Iterable[Note]) -> None:
        self._recording.write(notes, self._memory.find)

    def _watch_over(self) -> None:
        """Measure downtime of this VM while an event may cause it."""
        now = self._clock.now()
        if any(course.is_near(life, now) for life in self._memory.live()):
            self._pulse.watch()
        else:
            self._pulse.rest()
