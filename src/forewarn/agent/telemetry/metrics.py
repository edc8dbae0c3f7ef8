"""The agent's metrics: a catalog of definitions and a registry of values.

Values from a server or a file can become labels, so `AgentMetrics` limits the number of
series of each metric.
"""

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from threading import Lock
from typing import TypeAlias

#: The prefix of every name.
PREFIX = "forewarn_agent_"
#: The content type of `render`.
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_SERIES_LIMIT = 256  # series per metric; a server may announce any number of events
_LABEL_LIMIT = 200  # characters of a label value, which may come from a server

Labels: TypeAlias = tuple[str, ...]
#: A number, or a function that returns one.
Value: TypeAlias = float | Callable[[], float]


class MetricKind(StrEnum):
    """The Prometheus type of a metric."""

    #: Only increases until the agent restarts.
    COUNTER = "counter"
    #: Increases and decreases.
    GAUGE = "gauge"
    #: A distribution of values.
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """The definition of one metric."""

    name: str  # without the prefix
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()  # for histograms: upper bounds, without +Inf
    label_values: tuple[tuple[str, ...], ...] = ()  # for series that start at 0

    @property
    def kind(self) -> MetricKind:
        """The metric's type, derived from its buckets and its name's ending."""
        if self.buckets:
            return MetricKind.HISTOGRAM
        is_counter = self.name.endswith("_total")
        return MetricKind.COUNTER if is_counter else MetricKind.GAUGE


# --- catalog -----------------------------------------------------------------


_STEPS = ("prepare", "started", "started-without-notice", "recover", "undo")
_OUTCOMES = ("done", "failed", "cut")
_RESULTS = ("document", "unchanged", "blank", "failed")

_HOOK = (0.1, 0.5, 1.0, 5.0, 15.0, 30.0, 60.0, 300.0, 900.0)
_NOTICE = (5.0, 30.0, 60.0, 300.0, 600.0, 900.0, 3_600.0, 86_400.0, 604_800.0)
_IMPACT = (0.1, 0.5, 1.0, 2.0, 5.0, 9.0, 30.0, 60.0, 300.0, 900.0)

#: All metrics, in the order in which they are output.
AGENT_METRICS: Sequence[MetricSpec] = (
    MetricSpec(
        "info",
        "Always 1. The labels identify the agent.",
        labels=("version", "name", "endpoint"),
    ),
    MetricSpec(
        "up",
        "1 while the agent is running; 0 in the textfile after the agent has stopped.",
    ),
    MetricSpec("dry_run", "1 if the agent is running with --dry-run."),
    MetricSpec("blind", "1 if the agent has not read a document for too long."),
    MetricSpec("blind_seconds", "Seconds since the agent last read a document."),
    MetricSpec(
        "name_mismatch", "1 if the agent may miss events because of this VM's name."
    ),
    MetricSpec(
        "last_document_timestamp_seconds",
        "Time at which the agent last read a document.",
    ),
    MetricSpec("document_incarnation", "Incarnation number of the last document."),
    MetricSpec(
        "events",
        "Events in the last document; `mine` is 1 for events that list this VM.",
        labels=("type", "status", "mine"),
    ),
    MetricSpec(
        "not_before_timestamp_seconds",
        "NotBefore of each event in the document.",
        labels=("event", "type"),
    ),
    MetricSpec(
        "events_ignored",
        "Events that the agent does not track because there are too many events or"
        " because they are too large.",
    ),
    MetricSpec("hook_running", "Running hooks."),
    MetricSpec(
        "hook_waiting",
        "Hooks waiting because the maximum number of hooks (`hooks_at_once`) is"
        " running.",
    ),
    MetricSpec(
        "readings_total",
        "Polls, by result.",
        labels=("result",),
        label_values=(_RESULTS,),
    ),
    MetricSpec(
        "decisions_total",
        "Events by the rule that matched, or `none`.",
        labels=("rule",),
    ),
    MetricSpec(
        "hooks_total",
        "Finished hooks, by step and outcome.",
        labels=("step", "outcome"),
        label_values=(_STEPS, _OUTCOMES),
    ),
    MetricSpec(
        "approvals_total",
        "Approvals, by response status, or `unreachable`.",
        labels=("answer",),
        label_values=(("200",),),
    ),
    MetricSpec(
        "approved_elsewhere_total",
        "Events that started early even though this agent had not approved them.",
    ),
    MetricSpec("boots_total", "Restarts of this VM during events."),
    MetricSpec(
        "state_errors_total", "Failed writes to the agent's state or audit log."
    ),
    MetricSpec(
        "series_dropped_total",
        "Values dropped because a metric had too many series.",
    ),
    MetricSpec(
        "hook_seconds",
        "Duration of hooks, including all attempts.",
        labels=("step",),
        label_values=(_STEPS,),
        buckets=_HOOK,
    ),
    MetricSpec(
        "notice_given_seconds",
        "Seconds until NotBefore when the agent first saw an event.",
        labels=("type",),
        buckets=_NOTICE,
    ),
    MetricSpec(
        "notice_used_seconds",
        "Seconds between first seeing an event and approving it.",
        labels=("type",),
        buckets=_NOTICE,
    ),
    MetricSpec(
        "impact_seconds",
        "Longest interruption of this VM during an event.",
        labels=("type",),
        buckets=_IMPACT,
    ),
)


# --- registry ----------------------------------------------------------------


class _HistogramSeries:
    """The bucket counts and sum of one histogram series."""

    __slots__ = ("counts", "total")

    def __init__(self, bounds: int) -> None:
        self.counts = [0] * (bounds + 1)  # the last one is above every bound
        self.total = 0.0


class AgentMetrics:
    """All metrics of one agent."""

    def __init__(self, specs: Sequence[MetricSpec] = AGENT_METRICS) -> None:
        """Create a registry with the series that are known to be zero."""
        self._lock = Lock()
        self._specs = {spec.name: spec for spec in specs}
        self._values: dict[str, dict[Labels, Value]] = {}
        self._histograms: dict[str, dict[Labels, _HistogramSeries]] = {}
        for spec in specs:
            zeros = [*_initial_series(spec)]
            self._values[spec.name] = dict.fromkeys(zeros, 0.0)
            if spec.kind is MetricKind.HISTOGRAM:
                self._values[spec.name] = {}
                self._histograms[spec.name] = {
                    labels: _HistogramSeries(len(spec.buckets)) for labels in zeros
                }

    def set(self, name: str, value: Value, /, **labels: str) -> None:
        """Set a gauge to `value`."""
        key = self._key(name, MetricKind.GAUGE, labels)
        with self._lock:
            if self._has_room(self._values[name], key):
                self._values[name][key] = value

    def replace(self, name: str, values: Mapping[Labels, float]) -> None:
        """Replace all series of a gauge; the keys are label values."""
        spec = self._spec(name, MetricKind.GAUGE)
        if any(len(key) != len(spec.labels) for key in values):
            raise ValueError(
                f"{name} requires a value for each of its labels: {spec.labels}"
            )
        with self._lock:
            self._values[name].clear()
            for full, value in values.items():
                key = _shortened(full)
                if self._has_room(self._values[name], key):
                    self._values[name][key] = value

    def add(self, name: str, amount: float = 1.0, /, **labels: str) -> None:
        """Increase a counter."""
        key = self._key(name, MetricKind.COUNTER, labels)
        with self._lock:
            self._increase(name, key, amount)

    def observe(self, name: str, value: float, /, **labels: str) -> None:
        """Add a value to a histogram."""
        key = self._key(name, MetricKind.HISTOGRAM, labels)
        bounds = self._specs[name].buckets
        with self._lock:
            if not self._has_room(self._histograms[name], key):
                return
            histogram = self._histograms[name].setdefault(
                key, _HistogramSeries(len(bounds))
            )
            histogram.counts[bisect_left(bounds, value)] += 1
            histogram.total += value

    def value(self, name: str, /, **labels: str) -> float | None:
        """Return the current value of a series, or None if it does not exist."""
        key = self._key(name, self._specs[name].kind, labels)
        with self._lock:
            value = self._values[name].get(key)
        return value() if callable(value) else value

    def render(self) -> str:
        """Return all metrics in the Prometheus text format 0.0.4."""
        return "".join(
            line for spec in self._specs.values() for line in self._lines(spec)
        )

    def _lines(self, spec: MetricSpec) -> Iterator[str]:
        name = PREFIX + spec.name
        with self._lock:
            values = {**self._values[spec.name]}
            histograms = {
                labels: ([*histogram.counts], histogram.total)
                for labels, histogram in self._histograms.get(spec.name, {}).items()
            }
        # Called without the lock: a value function may hold its own lock.
        numbers = {
            key: source() if callable(source) else source
            for key, source in values.items()
        }
        yield f"# HELP {name} {_escape(spec.help)}\n"
        yield f"# TYPE {name} {spec.kind}\n"
        for labels, value in sorted(numbers.items()):
            shown = _label_text(spec.labels, labels)
            yield f"{name}{shown} {_format_number(value)}\n"
        for labels, (counts, total) in sorted(histograms.items()):
            yield from _histogram_lines(spec, labels, counts, total)

    def _key(self, name: str, kind: MetricKind, labels: Mapping[str, str]) -> Labels:
        spec = self._spec(name, kind)
        if labels.keys() != {*spec.labels}:
            raise ValueError(f"{name} has the labels {spec.labels}, not {labels}")
        return _shortened(labels[label] for label in spec.labels)

    def _spec(self, name: str, kind: MetricKind) -> MetricSpec:
        spec = self._specs[name]
        if spec.kind is not kind:
            raise ValueError(f"{name} is a {spec.kind}, not a {kind}")
        return spec

    def _has_room(self, series: Mapping[Labels, object], key: Labels) -> bool:
        if key in series or len(series) < _SERIES_LIMIT:
            return True
        self._increase("series_dropped_total", (), 1.0)
        return False

    def _increase(self, name: str, key: Labels, amount: float) -> None:
        series = self._values[name]
        if self._has_room(series, key):
            before = series.get(key, 0.0)
            series[key] = (0.0 if callable(before) else before) + amount


def _shortened(labels: Iterable[str]) -> Labels:
    return tuple(value[:_LABEL_LIMIT] for value in labels)


def _initial_series(spec: MetricSpec) -> Iterator[tuple[str, ...]]:
    """Yield the series that exist before anything has happened.

    If a counter first appears with its first event, Prometheus's `increase` misses
    that event.
    """
    if spec.kind is not MetricKind.GAUGE and len(spec.label_values) == len(spec.labels):
        yield from product(*spec.label_values)


# --- text format -------------------------------------------------------------


def _histogram_lines(
    spec: MetricSpec, labels: Labels, counts: Sequence[int], total: float
) -> Iterator[str]:
    name = PREFIX + spec.name
    so_far = 0
    names = (*spec.labels, "le")
    for bound, count in zip((*spec.buckets, math.inf), counts, strict=True):
        so_far += count
        shown = _label_text(names, (*labels, _format_number(bound)))
        yield f"{name}_bucket{shown} {so_far}\n"
    yield f"{name}_sum{_label_text(spec.labels, labels)} {_format_number(total)}\n"
    yield f"{name}_count{_label_text(spec.labels, labels)} {so_far}\n"


def _label_text(names: Sequence[str], values: Labels) -> str:
    pairs = zip(names, values, strict=True)
    inside = ",".join(
        '{}="{}"'.format(name, _escape(value).replace('"', r"\""))
        for name, value in pairs
    )
    return f"{{{inside}}}" if inside else ""


def _escape(text: str) -> str:
    # One unencodable character would break the whole page.
    clean = text.encode("utf-8", "replace").decode()
    return clean.replace("\\", r"\\").replace("\n", r"\n")


def _format_number(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    return str(int(value)) if value == int(value) else repr(float(value))
