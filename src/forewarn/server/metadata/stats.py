"""Metadata request statistics: response counters, and polling VMs and groups.

Only the metadata loop counts; any thread may read. With a single writer, no count is
lost. Numbers are read and dictionaries are copied in one step, so a reader misses at
most the response being sent.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple, TypeVar

from forewarn.core.fleet import Enabling, is_silence
from forewarn.core.outages import Outage
from forewarn.protocol.versions import VERSIONS
from forewarn.server.metadata.directory import Directory, EnabledState

#: The route and version used to count requests with an unreadable head.
UNREAD = ("other", "none")

#: Seconds without a request after which a VM counts as unseen.
_LIMITS = (60, 300, 900, 3600, 86_400)

_AT_ONCE = 2000  # items before other threads get their turn
_PAUSE = 0.000_05  # seconds

_T = TypeVar("_T")
_Times = Counter[datetime | None]  # None if never


class ResponseLabels(NamedTuple):
    """The labels of one counter."""

    route: str
    version: str
    status: int


class DocumentCount:
    """Counts responses with a document in one version, as plain sums for speed."""

    __slots__ = ("not_modified", "ok")

    def __init__(self) -> None:
        """Initialize all counts to zero."""
        self.ok = 0
        self.not_modified = 0


class ResponseCounts:
    """Counts responses by route, api-version and status."""

    def __init__(self) -> None:
        """Initialize all counts to zero."""
        #: Keyed by version. Each parsed request for a document refers to its counter.
        self.documents: Mapping[str, DocumentCount] = {
            name: DocumentCount() for name in VERSIONS
        }
        self._others: dict[ResponseLabels, int] = {}

    def add(self, labels: tuple[str, str], status: int) -> None:
        """Count a response with `status`; `labels` contains a route and a version."""
        key = ResponseLabels(*labels, status)
        self._others[key] = self._others.get(key, 0) + 1

    def all(self) -> Mapping[ResponseLabels, int]:
        """Return all counts; safe to call from any thread."""
        counts = self._others.copy()
        for version, counter in self.documents.items():
            for status, count in ((200, counter.ok), (304, counter.not_modified)):
                key = ResponseLabels("scheduledevents", version, status)
                counts[key] = counts.get(key, 0) + count
        return counts


@dataclass(frozen=True, slots=True, kw_only=True)
class Presence:
    """How many VMs and groups poll, and how many do not."""

    vms: int
    never: int  # VMs without a request since startup
    unseen: Mapping[int, int]  # VMs whose last poll is older, keyed by seconds
    enabled: int  # groups
    disabled: int  # groups


def presence(directory: Directory, now: datetime) -> Presence:
    """Count the VMs and groups that have polled recently, as of `now`."""
    entries, group_states = directory.entries(), directory.group_states()
    times = _count_times(entries, lambda entry: entry.last_request)
    disabled = _count_disabled(group_states, now, [*directory.outages])
    return Presence(
        vms=len(entries),
        never=times[None],
        unseen={limit: _count_older(times, now, limit) for limit in _LIMITS},
        enabled=len(group_states) - disabled,
        disabled=disabled,
    )


def silent_groups(directory: Directory, now: datetime) -> Iterator[str]:
    """Yield the groups that sent requests once but have been disabled since."""
    outages = [*directory.outages]
    for states in _batches(directory.group_states()):
        for state in states:
            if state.last_request is not None and state.is_disabled(now, outages):
                yield state.group.name


def _batches(items: Sequence[_T]) -> Iterator[Sequence[_T]]:
    """Yield `items` in batches, with pauses in which the metadata loop can run.

    Without the pauses, the loop would wait up to 5 ms each time until the interpreter
    switches threads.
    """
    for start in range(0, len(items), _AT_ONCE):
        yield items[start : start + _AT_ONCE]
        time.sleep(_PAUSE)


def _count_times(
    items: Sequence[_T], last_request: Callable[[_T], datetime | None]
) -> _Times:
    """Return how many items share each time of a last request.

    VMs that poll in the same second can then be evaluated together.
    """
    times: _Times = Counter()
    for batch in _batches(items):
        times.update([last_request(item) for item in batch])
    return times


def _count_older(times: _Times, now: datetime, seconds: int) -> int:
    until = now - timedelta(seconds=seconds)
    return sum(count for at, count in times.items() if at is not None and at < until)


def _count_disabled(
    group_states: Sequence[EnabledState], now: datetime, outages: Sequence[Outage]
) -> int:
    """Count the disabled groups, evaluating each distinct time only once.

    The rule is the same as in `EnabledState.is_disabled`.
    """

    def last_request(state: EnabledState) -> datetime | None:
        return now if state.group.enabled is Enabling.ALWAYS else state.last_request

    return sum(
        count
        for at, count in _count_times(group_states, last_request).items()
        if at is None or is_silence(at, now, outages)
    )
