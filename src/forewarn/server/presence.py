"""How many VMs and groups have asked lately.

Asked by other threads than the metadata loop, which alone writes. What they read is
copied in one step, and each time in it was true when it was read: a VM that asks
meanwhile is counted as it was a moment ago. The loop is not stopped for it.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TypeVar

from forewarn.core.fleet import Listening, is_silence
from forewarn.core.outages import Outage
from forewarn.server.identity import Directory, Hearing

#: After how many seconds without a request VMs are counted.
LIMITS = (60, 300, 900, 3600, 86_400)

_AT_ONCE = 2000  # before other threads get their turn
_PAUSE = 0.000_05  # seconds

_T = TypeVar("_T")
_Times = Counter[datetime | None]  # None: never


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence:
    """Who is there; who is not."""

    vms: int
    never: int  # VMs that have not asked since the start
    unseen: Mapping[int, int]  # VMs that have asked, but longer ago than so many s
    listening: int  # groups
    silent: int  # groups


def presence(directory: Directory, now: datetime) -> Presence:
    """Count who has asked lately, at `now`."""
    seats, hearings = directory.seats(), directory.hearings()
    times = _count(seats, lambda seat: seat.asked)
    silent = _silent(hearings, now, [*directory.outages])
    return Presence(
        vms=len(seats),
        never=times[None],
        unseen={limit: _longer_ago(times, now, limit) for limit in LIMITS},
        listening=len(hearings) - silent,
        silent=silent,
    )


def _count(several: Sequence[_T], asked: Callable[[_T], datetime | None]) -> _Times:
    """Count equal times: many ask in one second, and are judged together.

    Between its turns the metadata loop has its own: it would wait for the interpreter
    until it is taken from us, which is 5 ms each time.
    """
    times: _Times = Counter()
    for at in range(0, len(several), _AT_ONCE):
        times.update([asked(each) for each in several[at : at + _AT_ONCE]])
        time.sleep(_PAUSE)
    return times


def _longer_ago(times: _Times, now: datetime, seconds: int) -> int:
    until = now - timedelta(seconds=seconds)
    return sum(count for at, count in times.items() if at is not None and at < until)


def _silent(
    hearings: Sequence[Hearing], now: datetime, outages: Sequence[Outage]
) -> int:
    """Count groups that are silent; `Hearing.is_silent` asked only once for a time."""
    always = Listening.ALWAYS
    times = _count(
        hearings, lambda each: now if each.group.listening is always else each.asked
    )
    return sum(
        count
        for at, count in times.items()
        if at is None or is_silence(at, now, outages)
    )
