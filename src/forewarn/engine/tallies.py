"""Numbers that grow: counts and spreads of values, by labels; safe from any thread."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import TypeAlias

#: The values of the labels, in the order in which they are named elsewhere.
Labels: TypeAlias = tuple[str, ...]


class Tally:
    """Counts by labels."""

    def __init__(self, expected: Iterable[Labels] = ()) -> None:
        """Begin at zero, and say so of those labels that are `expected`."""
        self._lock = Lock()
        self._counts: dict[Labels, float] = dict.fromkeys(expected, 0)

    def add(self, *labels: str, by: float = 1) -> None:
        """Count one more, or so many."""
        with self._lock:
            self._counts[labels] = self._counts.get(labels, 0) + by

    def all(self) -> Mapping[Labels, float]:
        """Tell all counts."""
        with self._lock:
            return self._counts.copy()


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """How values were spread."""

    up_to: tuple[tuple[float, int], ...]  # how many were at most so large; last: all
    total: float


class Spread:
    """Values by labels, as counts of those up to some bounds."""

    def __init__(self, *bounds: float, expected: Iterable[Labels] = ()) -> None:
        """Tell values apart by `bounds`, in rising order.

        Of labels that are `expected` it is said that there are none yet.
        """
        self._bounds = bounds
        self._lock = Lock()
        self._found = {labels: self._nothing() for labels in expected}

    def see(self, value: float, *labels: str) -> None:
        """Take in one value."""
        with self._lock:
            counts, total = self._found.get(labels) or self._nothing()
            counts[bisect_left(self._bounds, value)] += 1
            self._found[labels] = (counts, total + value)

    def all(self) -> Mapping[Labels, Distribution]:
        """Tell how values were spread."""
        with self._lock:
            return {
                labels: Distribution(up_to=self._up_to(counts), total=total)
                for labels, (counts, total) in self._found.items()
            }

    def _nothing(self) -> tuple[list[int], float]:
        return [0] * (len(self._bounds) + 1), 0.0

    def _up_to(self, counts: Iterable[int]) -> tuple[tuple[float, int], ...]:
        so_far, reached = 0, []
        for bound, count in zip((*self._bounds, float("inf")), counts, strict=True):
            so_far += count
            reached.append((bound, so_far))
        return tuple(reached)
