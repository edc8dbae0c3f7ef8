"""Metrics of the agent, in Prometheus text format.

Thread-safe. A callable value is evaluated when the metrics are rendered.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from threading import Lock
from typing import TypeAlias

from forewarn.agent.measures import (
    MEASURES,
    PREFIX,
    Kind,
    Measure,
    series_from_the_start,
)

#: Content type of `render`.
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_MOST_SERIES = 256  # of one metric; a server may announce any number of events

Labels: TypeAlias = tuple[str, ...]
#: A number, or a function that returns one; None if there is no value.
Value: TypeAlias = float | Callable[[], float | None]


class _Spread:
    """Bucket counts and sum of one histogram series."""

    __slots__ = ("counts", "total")

    def __init__(self, bounds: int) -> None:
        self.counts = [0] * (bounds + 1)  # the last: above every bound
        self.total = 0.0


class Metrics:
    """All metrics of one agent."""

    def __init__(self, measures: Sequence[Measure] = MEASURES) -> None:
        """Start with the series that are known to be zero."""
        self._lock = Lock()
        self._measures = {measure.name: measure for measure in measures}
        self._values: dict[str, dict[Labels, Value]] = {}
        self._spreads: dict[str, dict[Labels, _Spread]] = {}
        for measure in measures:
            zeros = [*series_from_the_start(measure)]
            self._values[measure.name] = dict.fromkeys(zeros, 0.0)
            if measure.kind is Kind.HISTOGRAM:
                self._values[measure.name] = {}
                self._spreads[measure.name] = {
                    labels: _Spread(len(measure.buckets)) for labels in zeros
                }

    def set(self, name: str, value: Value, /, **labels: str) -> None:
        """Set a gauge to `value`."""
        key = self._key(name, Kind.GAUGE, labels)
        with self._lock:
            if self._has_room(self._values[name], key):
                self._values[name][key] = value

    def replace(self, name: str, values: Mapping[Labels, float]) -> None:
        """Replace all series of a gauge; the keys are its label values."""
        measure = self._measure(name, Kind.GAUGE)
        if any(len(key) != len(measure.labels) for key in values):
            raise ValueError(f"{name} has the labels {measure.labels}")
        with self._lock:
            self._values[name].clear()
            for key, value in values.items():
                if self._has_room(self._values[name], key):
                    self._values[name][key] = value

    def add(self, name: str, amount: float = 1.0, /, **labels: str) -> None:
        """Increase a counter."""
        key = self._key(name, Kind.COUNTER, labels)
        with self._lock:
            self._grow(name, key, amount)

    def observe(self, name: str, value: float, /, **labels: str) -> None:
        """Add a value to a histogram."""
        key = self._key(name, Kind.HISTOGRAM, labels)
        bounds = self._measures[name].buckets
        with self._lock:
            if not self._has_room(self._spreads[name], key):
                return
            spread = self._spreads[name].setdefault(key, _Spread(len(bounds)))
            spread.counts[bisect_left(bounds, value)] += 1
            spread.total += value

    def value(self, name: str, /, **labels: str) -> float | None:
        """Return the current value of a series; None if there is none."""
        key = self._key(name, self._measures[name].kind, labels)
        with self._lock:
            value = self._values[name].get(key)
        return value() if callable(value) else value

    def render(self) -> str:
        """Return all metrics in Prometheus text format 0.0.4."""
        return "".join(
            line for measure in self._measures.values() for line in self._lines(measure)
        )

    def _lines(self, measure: Measure) -> Iterator[str]:
        name = PREFIX + measure.name
        with self._lock:
            values = {**self._values[measure.name]}
            spreads = {
                labels: ([*spread.counts], spread.total)
                for labels, spread in self._spreads.get(measure.name, {}).items()
            }
        # Called without the lock: a value function may hold a lock of its own.
        numbers = {
            key: source() if callable(source) else source
            for key, source in values.items()
        }
        yield f"# HELP {name} {_escaped(measure.help)}\n"
        yield f"# TYPE {name} {measure.kind}\n"
        for labels, value in sorted(numbers.items()):
            if value is not None:
                yield f"{name}{_shown(measure.labels, labels)} {_number(value)}\n"
        for labels, (counts, total) in sorted(spreads.items()):
            yield from _spread_lines(measure, labels, counts, total)

    def _key(self, name: str, kind: Kind, labels: Mapping[str, str]) -> Labels:
        measure = self._measure(name, kind)
        if labels.keys() != {*measure.labels}:
            raise ValueError(f"{name} has the labels {measure.labels}, not {labels}")
        return tuple(labels[label] for label in measure.labels)

    def _measure(self, name: str, kind: Kind) -> Measure:
        measure = self._measures[name]
        if measure.kind is not kind:
            raise ValueError(f"{name} is a {measure.kind}, not a {kind}")
        return measure

    def _has_room(self, series: Mapping[Labels, object], key: Labels) -> bool:
        if key in series or len(series) < _MOST_SERIES:
            return True
        self._grow("series_dropped_total", (), 1.0)
        return False

    def _grow(self, name: str, key: Labels, amount: float) -> None:
        series = self._values[name]
        if self._has_room(series, key):
            before = series.get(key, 0.0)
            series[key] = (0.0 if callable(before) else before) + amount


# --- text format -------------------------------------------------------------


def _spread_lines(
    measure: Measure, labels: Labels, counts: Sequence[int], total: float
) -> Iterator[str]:
    name = PREFIX + measure.name
    so_far = 0
    names = (*measure.labels, "le")
    for bound, count in zip((*measure.buckets, math.inf), counts, strict=True):
        so_far += count
        shown = _shown(names, (*labels, _number(bound)))
        yield f"{name}_bucket{shown} {so_far}\n"
    yield f"{name}_sum{_shown(measure.labels, labels)} {_number(total)}\n"
    yield f"{name}_count{_shown(measure.labels, labels)} {so_far}\n"


def _shown(names: Sequence[str], values: Labels) -> str:
    pairs = zip(names, values, strict=True)
    inside = ",".join(
        '{}="{}"'.format(name, _escaped(value).replace('"', r"\""))
        for name, value in pairs
    )
    return f"{{{inside}}}" if inside else ""


def _escaped(text: str) -> str:
    # One character that cannot be encoded would break the whole page.
    clean = text.encode("utf-8", "replace").decode()
    return clean.replace("\\", r"\\").replace("\n", r"\n")


def _number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) else repr(float(value))
