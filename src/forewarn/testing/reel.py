"""When each line of a tape is shown, if it runs at some speed (pure).

Rules of this file:

1. Between two lines pass the seconds of the tape, divided by the speed; but a document
   or a trouble lasts for a least real time, so that a program that polls can see it.
2. While it is kept for that reason the tape's time does not go on. So whatever
   a document promises for later is still that far away when it is shown.
"""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from forewarn.client.tapes import Line, Showing, Tape, Trouble


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A line, and when it is shown."""

    line: Line
    starts: float  # real seconds since the tape began to run


@dataclass(frozen=True, slots=True, kw_only=True)
class Reel:
    """All that is shown, in order."""

    frames: Sequence[Frame]
    speed: float
    ends: float  # real seconds since the tape began to run

    def position(self, elapsed: float) -> float:
        """Say where the tape is after so many real seconds, in its own."""
        number = bisect_right(self.frames, elapsed, key=lambda each: each.starts) - 1
        if number < 0:
            return 0.0
        frame = self.frames[number]
        passed = frame.line.after + (elapsed - frame.starts) * self.speed
        if number + 1 < len(self.frames):
            return min(passed, self.frames[number + 1].line.after)
        return passed


def reel_of(tape: Tape, *, speed: float, shown: float) -> Reel:
    """Lay out `tape`; what can be seen lasts for at least `shown` real seconds."""
    lines = [each for each in tape.lines if _is_shown(each)]
    frames: list[Frame] = []
    now, after, least = 0.0, lines[0].after if lines else 0.0, 0.0
    for line in lines:
        now += max((line.after - after) / speed, least)
        after, least = line.after, shown if _is_seen(line) else 0.0
        frames.append(Frame(line=line, starts=now))
    ends = now + max((tape.length - after) / speed, least)
    return Reel(frames=frames, speed=speed, ends=ends)


def _is_shown(line: Line) -> bool:
    """Whether a service does it; a body without a byte is as good as no news."""
    is_blank = isinstance(line, Showing) and line.document is None
    return isinstance(line, Showing | Trouble) and not is_blank


def _is_seen(line: Line) -> bool:
    """Whether it takes a question to see it; the end of a trouble needs none."""
    return not (isinstance(line, Trouble) and line.what is None)
