"""The schedule and clock of a replay: when each line of a recording is shown.

1. The real time between two lines is the recorded time divided by the speed. Documents
   and failures are shown for a minimum real time, so that a polling program sees them.
2. If a line is shown longer than in the recording, the replay's clock is paused. The
   time left until NotBefore is therefore the same as in the recording.
"""

import time
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from forewarn.clocks import END, SystemClock
from forewarn.ports import Bell
from forewarn.recordings.format import (
    Line,
    RecordedDocument,
    RecordedFailure,
    Recording,
)

_LONGEST_WAIT = 1.0  # seconds; a replay has no deadlines


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayFrame:
    """A line and the time at which it is first shown."""

    line: Line
    starts: float  # real seconds since the start of the turn


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaySchedule:
    """All lines that are shown, in chronological order."""

    frames: Sequence[ReplayFrame]
    speed: float
    ends: float  # real seconds since the start of the turn

    def position(self, elapsed: float) -> float:
        """Convert elapsed real seconds to a position in recorded seconds."""
        number = bisect_right(self.frames, elapsed, key=lambda shown: shown.starts) - 1
        if number < 0:
            return 0.0
        frame = self.frames[number]
        passed = frame.line.after + (elapsed - frame.starts) * self.speed
        if number + 1 < len(self.frames):
            return min(passed, self.frames[number + 1].line.after)
        return passed


def schedule_of(recording: Recording, *, speed: float, shown: float) -> ReplaySchedule:
    """Schedule `recording`; show each visible line for at least `shown` seconds."""
    lines = [candidate for candidate in recording.lines if _is_shown(candidate)]
    frames: list[ReplayFrame] = []
    now, after, least = 0.0, lines[0].after if lines else 0.0, 0.0
    for line in lines:
        now += max((line.after - after) / speed, least)
        after, least = line.after, shown if _is_seen(line) else 0.0
        frames.append(ReplayFrame(line=line, starts=now))
    ends = now + max((recording.length - after) / speed, least)
    return ReplaySchedule(frames=frames, speed=speed, ends=ends)


def _is_shown(line: Line) -> bool:
    """Return whether a line changes the response; an empty body changes nothing."""
    is_blank = isinstance(line, RecordedDocument) and line.document is None
    return isinstance(line, RecordedDocument | RecordedFailure) and not is_blank


def _is_seen(line: Line) -> bool:
    """Return whether programs must get a chance to see the line.

    Programs need not see the end of a failure.
    """
    return not (isinstance(line, RecordedFailure) and line.what is None)


class ReplayClock:
    """The replay clock: system time until the replay starts, then recorded time."""

    def __init__(self, schedule: ReplaySchedule) -> None:
        """Create a clock with the times and speed of `schedule`."""
        self.name = f"x{schedule.speed:g}"
        self.rate = schedule.speed
        self._schedule = schedule
        self._turn: tuple[datetime, float] | None = None  # None before the first turn

    def begin(self) -> datetime:
        """Start a turn and return its start time, which is a whole second."""
        now = self.now()
        start = now.replace(microsecond=0)
        if start < now:  # a clock never moves backward
            start += timedelta(seconds=1)
        self._turn = start, time.monotonic()
        return start

    def now(self) -> datetime:
        """Return this turn's start time plus the position in the recording."""
        if self._turn is None:
            return SystemClock().now()
        start = self._turn[0]
        longest = (END - start).total_seconds()
        position = min(self._schedule.position(self.elapsed()), longest)
        return start + timedelta(seconds=position)

    def elapsed(self) -> float:
        """Return the seconds of real time elapsed in this turn."""
        return 0.0 if self._turn is None else time.monotonic() - self._turn[1]

    def wait(self, bell: Bell, until: datetime | None) -> None:
        """Wait at most one second for `bell`; `until` is ignored."""
        del until
        bell.wait(_LONGEST_WAIT)
