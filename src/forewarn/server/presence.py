"""Last polls: how many VMs and groups have polled recently.

Other threads than the metadata loop call this, while only the loop writes. They copy
lists in one step, and every time in a copy was true when it was read: a VM that polls
meanwhile counts as it was a moment ago. The loop does not stop for it.
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

#: Seconds without a request after which VMs count as unseen.
LIMITS = (60, 300, 900, 3600, 86_400)

_AT_ONCE = 2000  # items, before other threads get their turn
_PAUSE = 0.000_05  # seconds

_T = TypeVar("_T")
_Times = Counter[datetime | None]  # None if never


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence:
    """How many VMs and groups poll, and how many do not."""

    vms: int
    never: int  # VMs without a request since the start
    unseen: Mapping[int, int]  # by seconds: VMs whose last poll is older
    listening: int  # enabled groups
    silent: int  # disabled groups


def presence(directory: Directory, now: datetime) -> Presence:
    """Count the VMs and groups that have polled recently, as of `now`."""
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
    """Count equal times: many VMs poll in one second and are evaluated together.

    The pauses hand the interpreter to the metadata loop. Otherwise it would wait up to
    5 ms each time until the interpreter switches threads.
    """
    times: _Times = Counter()
    for at in range(0, len(several), _AT_ONCE):
        times.update([asked(item) for item in several[at : at + _AT_ONCE]])
        time.sleep(_PAUSE)
    return times


def _longer_ago(times: _Times, now: datetime, seconds: int) -> int:
    until = now - timedelta(seconds=seconds)
    return sum(count for at, count in times.items() if at is not None and at < until)


def _silent(
    hearings: Sequence[Hearing], now: datetime, outages: Sequence[Outage]
) -> int:
    """Count disabled groups; like `Hearing.is_silent`, but once per distinct time."""
    always = Listening.ALWAYS
    times = _count(
        hearings,
        lambda hearing: now if hearing.group.listening is always else hearing.asked,
    )
    return sum(
        count
        for at, count in times.items()
        if at is None or is_silence(at, now, outages)
    )
