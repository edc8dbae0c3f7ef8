"""Thread-safe counters and histograms with labels."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from threading import Lock
from typing import TypeAlias

#: Label values, in the order in which the metric declares its labels.
Labels: TypeAlias = tuple[str, ...]


class Tally:
    """A counter with labels."""

    def __init__(self, expected: Iterable[Labels] = ()) -> None:
        """Start all `expected` labels at zero, so that they are reported at once."""
        self._lock = Lock()
        self._counts: dict[Labels, float] = dict.fromkeys(expected, 0)

    def add(self, *labels: str, by: float = 1) -> None:
        """Add 1, or `by`, to the count of `labels`."""
        with self._lock:
            self._counts[labels] = self._counts.get(labels, 0) + by

    def all(self) -> Mapping[Labels, float]:
        """Return all counts."""
        with self._lock:
            return self._counts.copy()


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """The cumulative counts and the sum of the observed values."""

    up_to: tuple[tuple[float, int], ...]  # (bound, values up to it); the last is all
    total: float


class Spread:
    """A histogram with labels."""

    def __init__(self, *bounds: float, expected: Iterable[Labels] = ()) -> None:
        """Count values up to each of `bounds`, in ascending order.

        All `expected` labels start empty, so that they are reported at once.
        """
        self._bounds = bounds
        self._lock = Lock()
        self._found = {labels: self._nothing() for labels in expected}

    def see(self, value: float, *labels: str) -> None:
        """Observe one value."""
        with self._lock:
            counts, total = self._found.get(labels) or self._nothing()
            counts[bisect_left(self._bounds, value)] += 1
            self._found[labels] = (counts, total + value)

    def all(self) -> Mapping[Labels, Distribution]:
        """Return the distribution of the values of each label."""
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
