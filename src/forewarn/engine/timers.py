"""Timers, the heartbeat thread and advances of the manual clock."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timedelta
from threading import Lock, Semaphore

from forewarn.clocks import END, ManualClock
from forewarn.engine import heartbeat
from forewarn.engine.engine import Engine
from forewarn.engine.idempotency import IdempotencyKey
from forewarn.engine.readers.follower import Follower
from forewarn.errors import Conflict, InvalidInput, Unavailable
from forewarn.ports import Bell

#: The longest single advance of a manual clock.
LONGEST_ADVANCE = timedelta(days=36_500)

_MOST_IN_TURN = 20  # each occupies a control-plane thread while a script runs

_TOO_FAR = f"the clock cannot go beyond the year {END.year - 1}"


class Timers(Follower):
    """A thread that applies everything due and saves the heartbeat.

    With a manual clock, the thread only saves the heartbeat; `ClockAdvance` does the
    rest. A heartbeat also determines whether a failed commit was applied, because no
    earlier commit can appear after the heartbeat. While writes fail, a probe after each
    heartbeat detects when writes succeed again.
    """

    def __init__(self, engine: Engine, done: Callable[[], None]) -> None:
        """Create a thread that ticks `engine` and calls `done` after each tick."""
        super().__init__(
            "timers",
            self._turn,
            self._wait_for_next,
            is_known=engine.health.is_failing,
        )
        self._engine = engine
        self._done = done
        self._beaten = self._probed = float("-inf")
        self._began = time.monotonic()

    @property
    def since_heartbeat(self) -> float:
        """The seconds of real time since the last heartbeat."""
        return time.monotonic() - self._beaten

    @property
    def beaten_at(self) -> float:
        """The real time of the last heartbeat; initially, the time of creation."""
        return max(self._beaten, self._began)

    def stop(self, timeout: float | None = None) -> None:
        """Save a last heartbeat and stop the thread."""
        super().stop(timeout)
        with suppress(Unavailable):
            self._engine.beat()

    def _turn(self) -> None:
        is_time = time.monotonic() - self._beaten >= heartbeat.INTERVAL
        if is_time or self._engine.is_in_doubt:
            self._engine.beat()
            self._beaten = time.monotonic()
        if not isinstance(self._engine.clock, ManualClock):
            self._engine.tick()
            self._done()
        is_time = time.monotonic() - self._probed >= heartbeat.INTERVAL
        if is_time and self._engine.health.needs_probe():
            self._engine.probe()
            self._probed = time.monotonic()

    def _wait_for_next(self, bell: Bell) -> None:
        """Wait for the next timer or heartbeat, whichever comes first."""
        clock = self._engine.clock
        until = clock.now() + timedelta(seconds=heartbeat.INTERVAL * clock.rate)
        following = self._engine.next_moment()
        if following is not None and not isinstance(clock, ManualClock):
            until = min(until, following)
        clock.wait(bell, until)


class ClockAdvance:
    """Advances the manual clock, timer by timer."""

    def __init__(
        self,
        engine: Engine,
        read_to_end: Callable[[], None],
        on_move: Callable[[], None] = lambda: None,
    ) -> None:
        """Initialize from the clock of `engine`.

        `read_to_end` makes all readers catch up. After each advance, `on_move` is
        called.
        """
        self._engine = engine
        self._read_to_end = read_to_end
        self._lock = Lock()
        self._places = Semaphore(_MOST_IN_TURN)
        self._is_leaving = False
        self._on_move = on_move
        self._unfinished: dict[str, datetime] = {}  # keyed by idempotency key

    def stop(self) -> None:
        """Stop a running advance at its next timer."""
        self._is_leaving = True

    def by(
        self, step: timedelta, once: IdempotencyKey[datetime] | None = None
    ) -> datetime:
        """Advance the clock by `step`; repeated requests resume unfinished ones."""
        with self._in_turn():
            key = None if once is None else once.key
            try:
                target = self._unfinished.get(key or "") or self._manual().now() + step
            except OverflowError:
                raise InvalidInput(_TOO_FAR) from None
            self._unfinished.pop(key or "", None)
            try:
                return self._to(target, once)
            except Unavailable:
                if key is not None:
                    self._unfinished[key] = target
                raise

    def to(
        self, target: datetime, once: IdempotencyKey[datetime] | None = None
    ) -> datetime:
        """Advance the clock to `target`."""
        with self._in_turn():
            return self._to(target, once)

    @contextmanager
    def _in_turn(self) -> Iterator[None]:
        """Wait for earlier advances; raise `Conflict` if too many are waiting."""
        if not self._places.acquire(blocking=False):
            raise Conflict(
                f"the clock is being advanced, and {_MOST_IN_TURN - 1} more requests"
                " are waiting to advance it; try again when they are done"
            )
        try:
            with self._lock:
                yield
        finally:
            self._places.release()

    def _to(self, target: datetime, once: IdempotencyKey[datetime] | None) -> datetime:
        engine, clock = self._engine, self._manual()
        engine.refuse_repeated(once)
        if target < clock.now():
            raise InvalidInput(
                f"the clock is at {clock.now().isoformat()} and cannot be set back"
            )
        if target - clock.now() > LONGEST_ADVANCE:
            raise InvalidInput(
                "the clock can be advanced by at most 100 years at a time"
            )
        if target >= END:
            raise InvalidInput(_TOO_FAR)
        self._read_to_end()
        while True:
            moment = engine.next_moment()
            if moment is None or moment > target:
                break
            if self._is_leaving:
                raise Unavailable(
                    f"the service is stopping; the clock is at {clock.now()}"
                )
            with clock.moved_to(max(moment, clock.now())):
                engine.tick()  # this also saves the heartbeat
            self._read_to_end()
        with clock.moved_to(target):
            engine.keep_clock(target, once)
        self._read_to_end()
        self._on_move()
        return target

    def _manual(self) -> ManualClock:
        clock = self._engine.clock
        if not isinstance(clock, ManualClock):
            raise Conflict(
                f"the clock is {clock.name}; only a manual clock can be advanced"
                " (forewarn serve --clock manual)"
            )
        return clock
