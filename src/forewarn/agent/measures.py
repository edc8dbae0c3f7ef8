"""Metrics catalog of the agent, as a table.

Label values are few and bounded. Values from a server or a file can become labels, but
`Metrics` limits each metric to a few hundred series.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import product

#: Prefix of every name.
PREFIX = "forewarn_agent_"


class Kind(StrEnum):
    """Prometheus type of a metric."""

    #: Only grows, until the next start.
    COUNTER = "counter"
    #: Goes up and down.
    GAUGE = "gauge"
    #: Distribution of values.
    HISTOGRAM = "histogram"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """Definition of one metric."""

    name: str  # without the prefix
    kind: Kind
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()  # of a histogram: upper bounds, without +Inf
    known: tuple[tuple[str, ...], ...] = ()  # values of each label that start at 0


_STEPS = ("prepare", "started", "started-without-notice", "recover", "undo")
_OUTCOMES = ("done", "failed", "cut")
_RESULTS = ("document", "unchanged", "blank", "failed")

_HOOK = (0.1, 0.5, 1.0, 5.0, 15.0, 30.0, 60.0, 300.0, 900.0)
_NOTICE = (5.0, 30.0, 60.0, 300.0, 600.0, 900.0, 3_600.0, 86_400.0, 604_800.0)
_IMPACT = (0.1, 0.5, 1.0, 2.0, 5.0, 9.0, 30.0, 60.0, 300.0, 900.0)

#: Name, labels, help.
_GAUGES: Sequence[tuple[str, tuple[str, ...], str]] = (
    ("info", ("version", "name", "endpoint"), "Always 1; the labels tell who."),
    ("up", (), "1 while the agent runs; 0 in the file that it leaves behind."),
    ("dry_run", (), "1 if the agent was told to approve nothing."),
    ("blind", (), "1 if no document could be read for too long: an alarm."),
    ("blind_seconds", (), "Seconds since a document could last be read."),
    ("name_mismatch", (), "1 if no event can be known to name this VM: an alarm."),
    (
        "last_document_timestamp_seconds",
        (),
        "When a document was last read, by the service's clock.",
    ),
    ("document_incarnation", (), "The incarnation of the last document."),
    (
        "events",
        ("type", "status", "mine"),
        "Events in the last document; `mine` is 1 if they name this VM.",
    ),
    (
        "not_before_timestamp_seconds",
        ("event", "type"),
        "When an event may begin; only while it is in the document.",
    ),
    ("hook_running", (), "Hooks that are running."),
)

#: Name, labels, help, known values of the labels.
_COUNTERS: Sequence[tuple[str, tuple[str, ...], str, tuple[tuple[str, ...], ...]]] = (
    ("readings_total", ("result",), "Attempts to read a document.", (_RESULTS,)),
    (
        "decisions_total",
        ("rule",),
        "Events that were decided on, by the rule that matched, or `none`.",
        (),
    ),
    (
        "hooks_total",
        ("step", "outcome"),
        "Hooks that have ended.",
        (_STEPS, _OUTCOMES),
    ),
    (
        "approvals_total",
        ("answer",),
        "Approvals that were sent, by the status of the answer, or `unreachable`.",
        (("200",),),
    ),
    (
        "approved_elsewhere_total",
        (),
        "Events that started early although this agent had not approved them.",
        (),
    ),
    ("boots_total", (), "Restarts of this VM during its events.", ()),
    ("state_errors_total", (), "Failures to write the state or the record.", ()),
    (
        "series_dropped_total",
        (),
        "Values that were left out because a metric had too many series.",
        (),
    ),
)

#: Name, label, its known values, buckets, help.
_HISTOGRAMS: Sequence[tuple[str, str, tuple[str, ...], tuple[float, ...], str]] = (
    (
        "hook_seconds",
        "step",
        _STEPS,
        _HOOK,
        "How long hooks ran, all tries together.",
    ),
    (
        "notice_given_seconds",
        "type",
        (),
        _NOTICE,
        "Seconds to NotBefore when an event was first seen.",
    ),
    (
        "notice_used_seconds",
        "type",
        (),
        _NOTICE,
        "Seconds from the first sight of an event to its approval, or its start.",
    ),
    (
        "impact_seconds",
        "type",
        (),
        _IMPACT,
        "How long nothing ran in this VM during an event.",
    ),
)

#: In the order of the output.
MEASURES: Sequence[Measure] = (
    *(
        Measure(name=name, kind=Kind.GAUGE, help=text, labels=labels)
        for name, labels, text in _GAUGES
    ),
    *(
        Measure(name=name, kind=Kind.COUNTER, help=text, labels=labels, known=known)
        for name, labels, text, known in _COUNTERS
    ),
    *(
        Measure(
            name=name,
            kind=Kind.HISTOGRAM,
            help=text,
            labels=(label,),
            buckets=buckets,
            known=(known,),
        )
        for name, label, known, buckets, text in _HISTOGRAMS
    ),
)


def series_from_the_start(measure: Measure) -> Iterator[tuple[str, ...]]:
    """Yield the series that exist before anything has happened.

    A counter that first appears with its first event hides that event from `increase`.
    """
    if measure.kind is not Kind.GAUGE and len(measure.known) == len(measure.labels):
        yield from product(*measure.known)
