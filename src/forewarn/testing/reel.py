"""Replay schedule: when each line of a recording is shown, at some speed (pure).

1. The recorded seconds between two lines, divided by the speed, pass between them. A
   document or a failure stays for a minimum of real time, so that a polling program can
   see it.
2. The recording's time stands still while a line is kept for that minimum. So every
   time in a document is still as far ahead as it was when recorded.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from forewarn.client.tapes import Line, Showing, Tape, Trouble


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A line and when it is shown."""

    line: Line
    starts: float  # real seconds since the start of the turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Reel:
    """All lines that are shown, in order."""

    frames: Sequence[Frame]
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


def reel_of(tape: Tape, *, speed: float, shown: float) -> Reel:
    """Schedule `tape`; visible lines stay for at least `shown` real seconds."""
    lines = [candidate for candidate in tape.lines if _is_shown(candidate)]
    frames: list[Frame] = []
    now, after, least = 0.0, lines[0].after if lines else 0.0, 0.0
    for line in lines:
        now += max((line.after - after) / speed, least)
        after, least = line.after, shown if _is_seen(line) else 0.0
        frames.append(Frame(line=line, starts=now))
    ends = now + max((tape.length - after) / speed, least)
    return Reel(frames=frames, speed=speed, ends=ends)


def _is_shown(line: Line) -> bool:
    """Return whether a line changes what is served; an empty body means no change."""
    is_blank = isinstance(line, Showing) and line.document is None
    return isinstance(line, Showing | Trouble) and not is_blank


def _is_seen(line: Line) -> bool:
    """Return whether only a poll shows the line, unlike the end of a failure."""
    return not (isinstance(line, Trouble) and line.what is None)
