"""Kinds of metrics: each has a name, labels, a help text, and a source.

Labels are few and bounded: no names of VMs, no ids of events, no addresses.
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
    """A value that goes up and down."""

    name: str
    labels: Labels
    help: str
    read: Callable[[Look], Values]


@dataclass(frozen=True, slots=True)
class Count:
    """A value that only grows, until the next start."""

    name: str  # without the suffix `_total`
    labels: Labels
    help: str
    read: Callable[[Look], Values]


@dataclass(frozen=True, slots=True)
class Histogram:
    """A distribution of values."""

    name: str  # without the suffixes `_bucket`, `_sum` and `_count`
    labels: Labels
    help: str
    read: Callable[[Look], Spreads]


Metric: TypeAlias = Gauge | Count | Histogram


def one(value: float | None) -> Values:
    """Return one value without labels; empty if it is None."""
    return {} if value is None else {(): value}
