"""Catalog of all metrics: each has a name, labels, a help text, and a source.

Labels are few and bounded: no names of VMs, no ids of events, no addresses.
"""

import platform
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import TypeAlias

from forewarn import __version__
from forewarn.clocks import ManualClock
from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.model import Phase
from forewarn.engine.readers.counters import Distribution, Labels, Moved
from forewarn.engine.readers.notifications import TargetStatus
from forewarn.protocol.types import EventType
from forewarn.server.metadata.faults.model import FaultKind
from forewarn.server.metadata.limits import Admission
from forewarn.server.metrics.sources import Scrape

Values: TypeAlias = Mapping[Labels, float]
Distributions: TypeAlias = Mapping[Labels, Distribution]

_LIVE = tuple(phase for phase in Phase if phase.is_live)
_TYPE = ("type",)
_TYPE_AND_CAUSE = ("type", "cause")
_NOT_ADMITTED = {Admission.REFUSED: "told", Admission.DROPPED: "dropped"}


@dataclass(frozen=True, slots=True)
class Gauge:
    """A value that goes up and down."""

    name: str
    labels: Labels
    help: str
    read: Callable[[Scrape], Values]


@dataclass(frozen=True, slots=True)
class Count:
    """A value that only grows, until the next start."""

    name: str  # without the suffix `_total`
    labels: Labels
    help: str
    read: Callable[[Scrape], Values]


@dataclass(frozen=True, slots=True)
class Histogram:
    """A distribution of values."""

    name: str  # without the suffixes `_bucket`, `_sum` and `_count`
    labels: Labels
    help: str
    read: Callable[[Scrape], Distributions]


Metric: TypeAlias = Gauge | Count | Histogram


def _one(value: float | None) -> Values:
    """Return one value without labels; empty if it is None."""
    return {} if value is None else {(): value}


def _position(scrape: Scrape) -> Values:
    return _one(None if scrape.journal is None else scrape.journal.position)


def _behind(scrape: Scrape) -> Values:
    lags = {} if scrape.journal is None else scrape.journal.lags
    return {(name,): lag.positions for name, lag in lags.items()}


def _lag(scrape: Scrape) -> Values:
    lags = {} if scrape.journal is None else scrape.journal.lags
    return {(name,): lag.seconds for name, lag in lags.items()}


def _heartbeat(scrape: Scrape) -> Values:
    since = scrape.sources.since_heartbeat()
    return _one(since if isfinite(since) else None)


def _rate(scrape: Scrape) -> Values:
    clock = scrape.sources.clock
    return _one(0 if isinstance(clock, ManualClock) else clock.rate)


def _unseen(scrape: Scrape) -> Values:
    return {(str(limit),): n for limit, n in scrape.presence.unseen.items()}


def _targets(scrape: Scrape) -> Sequence[TargetStatus]:
    return () if scrape.journal is None else scrape.journal.targets


#: In the order of the output.
SERVICE: Sequence[Metric] = (
    Gauge(
        "forewarn_build_info",
        ("version", "python"),
        "What is running; always 1.",
        lambda scrape: {(__version__, platform.python_version()): 1},
    ),
    Gauge(
        "forewarn_store_up",
        (),
        "Whether the store answered when it was last asked, for this very scrape.",
        lambda scrape: _one(0 if scrape.journal is None else 1),
    ),
    Gauge(
        "forewarn_store_size_bytes",
        (),
        "Size of the SQLite file with its log; absent for any other store.",
        lambda scrape: _one(scrape.sources.store_bytes()),
    ),
    Gauge(
        "forewarn_journal_position",
        (),
        "How many facts the journal has; absent while the store is away.",
        _position,
    ),
    Gauge(
        "forewarn_reader_behind_facts",
        ("reader",),
        "Facts that a reader of the journal has not read; absent while the store is"
        " away.",
        _behind,
    ),
    Gauge(
        "forewarn_reader_lag_seconds",
        ("reader",),
        "Real time since the oldest fact that a reader has not read, 0 if there is"
        " none; absent while the store is away.",
        _lag,
    ),
    Gauge(
        "forewarn_clock_rate",
        (),
        "How fast the service's clock runs; 0: it is moved by hand.",
        _rate,
    ),
    Gauge(
        "forewarn_clock_timestamp_seconds",
        (),
        "The time by the service's clock, since 1970.",
        lambda scrape: _one(scrape.now.timestamp()),
    ),
    Gauge(
        "forewarn_heartbeat_age_seconds",
        (),
        "Real time since the heartbeat was last written; it is written every 10 s.",
        _heartbeat,
    ),
    Count(
        "forewarn_outages",
        (),
        "Times that the service was away for more than a minute, as far as it has"
        " noticed since the start.",
        lambda scrape: scrape.numbers.outages.all(),
    ),
    Count(
        "forewarn_outage_seconds",
        (),
        "How long it was away in these outages.",
        lambda scrape: scrape.numbers.outage_seconds.all(),
    ),
    # --- the fleet
    Gauge(
        "forewarn_vms",
        (),
        "VMs of the fleet.",
        lambda scrape: _one(scrape.presence.vms),
    ),
    Gauge(
        "forewarn_vms_unseen",
        ("seconds",),
        "VMs that have asked for events since the start, but last more than so many"
        " seconds ago, by the service's clock.",
        _unseen,
    ),
    Gauge(
        "forewarn_vms_never_seen",
        (),
        "VMs that have not asked for events since the start.",
        lambda scrape: _one(scrape.presence.never),
    ),
    Gauge(
        "forewarn_groups_listening",
        (),
        "Groups that have asked for events in the last 24 h, or always listen.",
        lambda scrape: _one(scrape.presence.enabled),
    ),
    Gauge(
        "forewarn_groups_silent",
        (),
        "Groups that have not asked for events in the last 24 h.",
        lambda scrape: _one(scrape.presence.disabled),
    ),
    Gauge(
        "forewarn_notifier_behind_facts",
        ("target",),
        "Facts of the journal that a notifier has not read, also those that it is not"
        " to tell; absent while the store is away.",
        lambda scrape: {(t.name,): t.behind for t in _targets(scrape)},
    ),
    Gauge(
        "forewarn_notifier_lag_seconds",
        ("target",),
        "Time since the oldest that it is still to tell; 0 if there is none.",
        lambda scrape: {(t.name,): t.lag_seconds for t in _targets(scrape)},
    ),
    Gauge(
        "forewarn_notifier_failures",
        ("target",),
        "Attempts of a notifier that failed, one after the other; 0 when one succeeds.",
        lambda scrape: {(t.name,): t.failures for t in _targets(scrape)},
    ),
)


def _events(scrape: Scrape) -> Values:
    counts = Counter(
        (str(maintenance.type), str(maintenance.phase))
        for maintenance in scrape.live
        for _ in maintenance.live_events
    )
    return {(kind, phase): counts[kind, phase] for kind in EventType for phase in _LIVE}


def _stuck(scrape: Scrape) -> Sequence[float]:
    """Return how long each stuck maintenance has been stuck, in seconds."""
    return [
        max((scrape.now - maintenance.stuck_since).total_seconds(), 0.0)
        for maintenance in scrape.live
        if maintenance.stuck_since is not None
    ]


def _moved(kind: type[Moved]) -> Callable[[Scrape], Values]:
    return lambda scrape: scrape.numbers.maintenances[kind].all()


#: In the order of the output.
LIFE: Sequence[Metric] = (
    Gauge(
        "forewarn_events",
        ("type", "phase"),
        "Events that VMs see now.",
        _events,
    ),
    Gauge(
        "forewarn_maintenances_stuck",
        (),
        "Maintenances that have started and whose driver failed.",
        lambda scrape: _one(len(_stuck(scrape))),
    ),
    Gauge(
        "forewarn_stuck_oldest_seconds",
        (),
        "For how long the oldest of them has been stuck; 0 if there is none.",
        lambda scrape: _one(max(_stuck(scrape), default=0.0)),
    ),
    Count(
        "forewarn_maintenances_announced",
        _TYPE_AND_CAUSE,
        "Maintenances announced.",
        _moved(f.Announced),
    ),
    Count(
        "forewarn_maintenances_started",
        _TYPE_AND_CAUSE,
        "Maintenances started.",
        _moved(f.Started),
    ),
    Count(
        "forewarn_maintenances_completed",
        _TYPE_AND_CAUSE,
        "Maintenances completed.",
        _moved(f.Completed),
    ),
    Count(
        "forewarn_maintenances_canceled",
        _TYPE_AND_CAUSE,
        "Maintenances called off before they started.",
        _moved(f.Canceled),
    ),
    Count(
        "forewarn_maintenances_failed",
        _TYPE_AND_CAUSE,
        "Maintenances given up after they had started.",
        _moved(f.Closed),
    ),
    Histogram(
        "forewarn_notice_given_seconds",
        _TYPE,
        "Notice given, from announcement to NotBefore, of maintenances that started;"
        " not of those that were to begin at once.",
        lambda scrape: scrape.numbers.notice_given.all(),
    ),
    Histogram(
        "forewarn_notice_used_seconds",
        _TYPE,
        "Notice used, from announcement to the start, of the same.",
        lambda scrape: scrape.numbers.notice_used.all(),
    ),
    Count(
        "forewarn_notice_saved_seconds",
        _TYPE,
        "How much sooner than NotBefore they started, everybody having approved.",
        lambda scrape: scrape.numbers.notice_saved.all(),
    ),
    Count(
        "forewarn_promises_broken",
        _TYPE,
        "Maintenances that started unapproved before their notice was over. This must"
        " stay 0.",
        lambda scrape: scrape.numbers.broken.all(),
    ),
    Histogram(
        "forewarn_approval_latency_seconds",
        ("via",),
        "From announcement to approval of an event, by the way that the approval"
        " came; `policy` is the group's own setting.",
        lambda scrape: scrape.numbers.approvals.all(),
    ),
    Histogram(
        "forewarn_first_seen_seconds",
        _TYPE,
        "From announcement until a VM was first shown the event; events announced"
        " since the start.",
        lambda scrape: scrape.numbers.first_seen.all(),
    ),
    # --- the driver
    Gauge(
        "forewarn_driver_calls_running",
        (),
        "Calls of the driver that are under way.",
        lambda scrape: _one(scrape.sources.calls()),
    ),
    Count(
        "forewarn_driver_calls",
        _TYPE,
        "Calls of the driver that were begun.",
        lambda scrape: scrape.numbers.driver_calls.all(),
    ),
    Histogram(
        "forewarn_driver_call_duration_seconds",
        _TYPE,
        "How long calls of the driver took, of real time.",
        lambda scrape: scrape.numbers.call_times.all(),
    ),
    Count(
        "forewarn_driver_reports",
        ("type", "result"),
        "VMs on which the driver reported its work `done` or `failed`.",
        lambda scrape: scrape.numbers.driver_reports.all(),
    ),
)


def _requests(scrape: Scrape) -> Values:
    return {
        (kind.route, kind.version, str(kind.status)): count
        for kind, count in scrape.sources.responses().items()
    }


def _not_admitted(scrape: Scrape) -> Values:
    counts = scrape.sources.not_admitted
    return {(how,): counts[verdict] for verdict, how in _NOT_ADMITTED.items()}


def _faults(scrape: Scrape) -> Values:
    counts = scrape.sources.faults()
    return {(kind.value,): counts.get(kind, 0) for kind in FaultKind}


#: In the order of the output.
REQUESTS: Sequence[Metric] = (
    Count(
        "forewarn_metadata_requests",
        ("route", "api_version", "status"),
        "Requests of VMs that were answered. `route` is scheduledevents, instance,"
        " versions or other; `api_version` one of the seven of scheduledevents, none"
        " or other.",
        _requests,
    ),
    Gauge(
        "forewarn_metadata_requests_held",
        (),
        "Requests that wait for a change of the document.",
        lambda scrape: _one(scrape.sources.held()),
    ),
    Gauge(
        "forewarn_metadata_connections",
        (),
        "Connections of VMs.",
        lambda scrape: _one(scrape.sources.connections()),
    ),
    Count(
        "forewarn_metadata_connections_refused",
        ("how",),
        "Connections beyond a limit: `told` so by a 503, or `dropped` without a word.",
        _not_admitted,
    ),
    Count(
        "forewarn_faults",
        ("kind",),
        "Requests of VMs that were answered wrongly on purpose.",
        _faults,
    ),
    Count(
        "forewarn_control_requests",
        ("method", "route", "status"),
        "Requests to the control plane, by the template of their path; those of Azure"
        " Resource Manager are all `/subscriptions`.",
        lambda scrape: scrape.traffic.requests.all(),
    ),
    Gauge(
        "forewarn_control_requests_in_flight",
        (),
        "Requests to the control plane that are being answered, streams and this"
        " scrape included.",
        lambda scrape: _one(scrape.traffic.in_flight),
    ),
    Histogram(
        "forewarn_control_request_duration_seconds",
        ("method", "route"),
        "How long requests to the control plane took until the answer began.",
        lambda scrape: scrape.traffic.times.all(),
    ),
)
