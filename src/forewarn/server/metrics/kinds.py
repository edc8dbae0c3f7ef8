"""What a metric is: a name, labels, a meaning, and where it is read.

Labels are few and bounded: no name of a VM, no id of an event, no address.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias

from forewarn.engine.tallies import Distribution, Labels
from forewarn.server.metrics.sources import Look

Values: TypeAlias = Mapping[Labels, float]
Spreads: TypeAlias = Mapping[Labels, Distribution]


@dataclass(frozen=True, slots=True)
class Gauge:
    """What goes up and down."""

    name: str
    labels: Labels
    help: str
    read: Callable[[Look], Values]


@dataclass(frozen=True, slots=True)
class Count:
    """What only grows, until the next start."""

    name: str  # `_total` is put behind it
    labels: Labels
    help: str
    read: Callable[[Look], Values]


@dataclass(frozen=True, slots=True)
class Histogram:
    """How values are spread."""

    name: str  # `_bucket`, `_sum` and `_count` are put behind it
    labels: Labels
    help: str
    read: Callable[[Look], Spreads]


Metric: TypeAlias = Gauge | Count | Histogram


def one(value: float | None) -> Values:
    """Tell one value without labels; None: nothing."""
    return {} if value is None else {(): value}
