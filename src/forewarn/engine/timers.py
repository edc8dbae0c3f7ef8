"""Time passes: deadlines, the heartbeat, and the manual clock's `advance`."""

import time
from collections.abc import Callable
from datetime import datetime, timedelta
from threading import Lock, Thread

from forewarn.clocks import ManualClock
from forewarn.engine.engine import Engine
from forewarn.engine.journal import Complaints
from forewarn.engine.once import Once
from forewarn.errors import Conflict, InvalidInput
from forewarn.ports import Bell

_HEARTBEAT = 10.0  # seconds of real time
_RETRY = 1.0  # seconds of real time, after a failure

#: The farthest that a manual clock is moved at once.
LONGEST_ADVANCE = timedelta(days=36_500)


class Timers:
    """A thread that does what is due when it is due, and writes the heartbeat.

    With a manual clock it only writes the heartbeat: there `advance` is the timer.
    """

    def __init__(self, engine: Engine, done: Callable[[], None]) -> None:
        """Tick `engine`; call `done` after each tick."""
        self._engine = engine
        self._done = done
        self._bell = Bell()
        self._leaving = False
        self._complaints = Complaints("timers")
        self._thread = Thread(target=self._run, name="timers", daemon=True)

    def start(self) -> None:
        """Begin to watch the clock."""
        self._thread.start()

    def ring(self) -> None:
        """Say that the next deadline may have changed."""
        self._bell.set()

    def stop(self) -> None:
        """End, with a last heartbeat."""
        self._leaving = True
        self._bell.set()
        if self._thread.is_alive():
            self._thread.join()

    def _run(self) -> None:
        beaten = float("-inf")
        while True:
            self._bell.clear()
            try:
                if self._leaving or time.monotonic() - beaten >= _HEARTBEAT:
                    self._engine.beat()
                    beaten = time.monotonic()
                if self._leaving:
                    return
                until = self._tick()
                self._complaints.end()
            except Exception as error:
                if self._leaving:
                    return
                self._complaints.about(error)
                self._bell.wait(_RETRY)
            else:
                self._engine.clock.wait(self._bell, until)

    def _tick(self) -> datetime:
        """Do what is due; answer until when nothing is."""
        clock = self._engine.clock
        until = clock.now() + timedelta(seconds=_HEARTBEAT * clock.rate)
        if isinstance(clock, ManualClock):
            return until
        self._engine.tick()
        self._done()
        following = self._engine.next_moment()
        return until if following is None else min(until, following)


class Advance:
    """Moves the manual clock, deadline by deadline."""

    def __init__(self, engine: Engine, read_to_end: Callable[[], None]) -> None:
        """Move the clock of `engine`; `read_to_end` lets all readers catch up."""
        self._engine = engine
        self._read_to_end = read_to_end
        self._lock = Lock()

    def by(self, step: timedelta, once: Once[datetime] | None = None) -> datetime:
        """Move the clock by `step`."""
        with self._lock:
            try:
                target = self._manual().now() + step
            except OverflowError:
                raise InvalidInput("the clock ends with the year 9999") from None
            return self._to(target, once)

    def to(self, target: datetime, once: Once[datetime] | None = None) -> datetime:
        """Move the clock to `target`."""
        with self._lock:
            return self._to(target, once)

    def _to(self, target: datetime, once: Once[datetime] | None) -> datetime:
        engine, clock = self._engine, self._manual()
        engine.refuse_repeated(once)
        if target < clock.now():
            raise InvalidInput(
                f"the clock stands at {clock.now().isoformat()} and is never set back"
            )
        if target - clock.now() > LONGEST_ADVANCE:
            raise InvalidInput("the clock is advanced by a hundred years at the most")
        self._read_to_end()
        while True:
            moment = engine.next_moment()
            if moment is None or moment > target:
                break
            clock.move_to(max(moment, clock.now()))
            engine.tick()
            self._read_to_end()
            engine.beat()
        clock.move_to(target)
        engine.keep_clock(target, once)
        self._read_to_end()
        return target

    def _manual(self) -> ManualClock:
        clock = self._engine.clock
        if not isinstance(clock, ManualClock):
            raise Conflict(
                f"the clock is {clock.name}; only a manual clock can be advanced"
                " (serve --clock manual)"
            )
        return clock
