"""Counters of metadata responses, by route, api-version and status.

Only the metadata loop counts; any thread may read. With a single writer, no count is
lost. Numbers are read, and dictionaries copied, in one step, so a reader misses at
most the response that is being sent.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple, TypeVar

from forewarn.core.fleet import Listening, is_silence
from forewarn.core.outages import Outage
from forewarn.protocol.versions import VERSIONS
from forewarn.server.metadata.directory import Directory, EnabledState

#: Seconds without a request after which VMs count as unseen.
LIMITS = (60, 300, 900, 3600, 86_400)

_AT_ONCE = 2000  # items, before other threads get their turn
_PAUSE = 0.000_05  # seconds

_T = TypeVar("_T")
_Times = Counter[datetime | None]  # None if never


class ResponseLabels(NamedTuple):
    """The labels of one counter."""

    route: str
    version: str
    status: int


class DocumentCount:
    """Document responses in one version, as plain sums for the hot path."""

    __slots__ = ("given", "not_modified")

    def __init__(self) -> None:
        """Start at zero."""
        self.given = 0
        self.not_modified = 0


#: Route and version under which requests with an unreadable head are counted.
UNREAD = ("other", "none")


class ResponseCounts:
    """Counts responses by route, api-version and status."""

    def __init__(self) -> None:
        """Start at zero."""
        #: By version. Each parsed request for a document keeps a reference to its cell.
        self.cells: Mapping[str, DocumentCount] = {
            name: DocumentCount() for name in VERSIONS
        }
        self._others: dict[ResponseLabels, int] = {}

    def add(self, asked: tuple[str, str], status: int) -> None:
        """Count a response with `status`; `asked` is a route and a version."""
        kind = ResponseLabels(*asked, status)
        self._others[kind] = self._others.get(kind, 0) + 1

    def all(self) -> Mapping[ResponseLabels, int]:
        """Return all counts; safe from any thread."""
        counted = self._others.copy()
        for version, cell in self.cells.items():
            for status, count in ((200, cell.given), (304, cell.not_modified)):
                kind = ResponseLabels("scheduledevents", version, status)
                counted[kind] = counted.get(kind, 0) + count
        return counted


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
    hearings: Sequence[EnabledState], now: datetime, outages: Sequence[Outage]
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
