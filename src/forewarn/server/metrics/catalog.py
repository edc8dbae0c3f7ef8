"""Kinds of metrics: each has a name, labels, a help text, and a source.

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
Spreads: TypeAlias = Mapping[Labels, Distribution]


_LIVE = tuple(phase for phase in Phase if phase.is_live)
_TYPE = ("type",)
_TYPE_AND_CAUSE = ("type", "cause")


_TURNED_AWAY = {Admission.REFUSED: "told", Admission.DROPPED: "dropped"}


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
    read: Callable[[Scrape], Spreads]


Metric: TypeAlias = Gauge | Count | Histogram


def one(value: float | None) -> Values:
    """Return one value without labels; empty if it is None."""
    return {} if value is None else {(): value}


def _position(look: Scrape) -> Values:
    return one(None if look.journal is None else look.journal.position)


def _behind(look: Scrape) -> Values:
    lags = {} if look.journal is None else look.journal.lags
    return {(name,): lag.positions for name, lag in lags.items()}


def _lag(look: Scrape) -> Values:
    lags = {} if look.journal is None else look.journal.lags
    return {(name,): lag.seconds for name, lag in lags.items()}


def _heartbeat(look: Scrape) -> Values:
    since = look.sources.since_heartbeat()
    return one(since if isfinite(since) else None)


def _rate(look: Scrape) -> Values:
    clock = look.sources.clock
    return one(0 if isinstance(clock, ManualClock) else clock.rate)


def _unseen(look: Scrape) -> Values:
    return {(str(limit),): n for limit, n in look.presence.unseen.items()}


def _targets(look: Scrape) -> Sequence[TargetStatus]:
    return () if look.journal is None else look.journal.targets


#: In the order of the output.
SERVICE: Sequence[Metric] = (
    Gauge(
        "forewarn_build_info",
        ("version", "python"),
        "What is running; always 1.",
        lambda look: {(__version__, platform.python_version()): 1},
    ),
    Gauge(
        "forewarn_store_up",
        (),
        "Whether the store answered when it was last asked, for this very scrape.",
        lambda look: one(0 if look.journal is None else 1),
    ),
    Gauge(
        "forewarn_store_size_bytes",
        (),
        "Size of the SQLite file with its log; absent for any other store.",
        lambda look: one(look.sources.store_bytes()),
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
        lambda look: one(look.now.timestamp()),
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
        lambda look: look.numbers.outages.all(),
    ),
    Count(
        "forewarn_outage_seconds",
        (),
        "How long it was away in these outages.",
        lambda look: look.numbers.outage_seconds.all(),
    ),
    # --- the fleet
    Gauge(
        "forewarn_vms",
        (),
        "VMs of the fleet.",
        lambda look: one(look.presence.vms),
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
        lambda look: one(look.presence.never),
    ),
    Gauge(
        "forewarn_groups_listening",
        (),
        "Groups that have asked for events in the last 24 h, or always listen.",
        lambda look: one(look.presence.enabled),
    ),
    Gauge(
        "forewarn_groups_silent",
        (),
        "Groups that have not asked for events in the last 24 h.",
        lambda look: one(look.presence.disabled),
    ),
    Gauge(
        "forewarn_notifier_behind_facts",
        ("target",),
        "Facts of the journal that a notifier has not read, also those that it is not"
        " to tell; absent while the store is away.",
        lambda look: {(t.name,): t.behind for t in _targets(look)},
    ),
    Gauge(
        "forewarn_notifier_lag_seconds",
        ("target",),
        "Time since the oldest that it is still to tell; 0 if there is none.",
        lambda look: {(t.name,): t.lag_seconds for t in _targets(look)},
    ),
    Gauge(
        "forewarn_notifier_failures",
        ("target",),
        "Attempts of a notifier that failed, one after the other; 0 when one succeeds.",
        lambda look: {(t.name,): t.failures for t in _targets(look)},
    ),
)


def _events(look: Scrape) -> Values:
    counts = Counter(
        (str(maintenance.type), str(maintenance.phase))
        for maintenance in look.live
        for _ in maintenance.live_events
    )
    return {(kind, phase): counts[kind, phase] for kind in EventType for phase in _LIVE}


def _stuck(look: Scrape) -> Sequence[float]:
    """Return how long each stuck maintenance has been stuck, in seconds."""
    return [
        max((look.now - maintenance.stuck_since).total_seconds(), 0.0)
        for maintenance in look.live
        if maintenance.stuck_since is not None
    ]


def _moved(kind: type[Moved]) -> Callable[[Scrape], Values]:
    return lambda look: look.numbers.maintenances[kind].all()


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
        lambda look: one(len(_stuck(look))),
    ),
    Gauge(
        "forewarn_stuck_oldest_seconds",
        (),
        "For how long the oldest of them has been stuck; 0 if there is none.",
        lambda look: one(max(_stuck(look), default=0.0)),
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
        lambda look: look.numbers.notice_given.all(),
    ),
    Histogram(
        "forewarn_notice_used_seconds",
        _TYPE,
        "Notice used, from announcement to the start, of the same.",
        lambda look: look.numbers.notice_used.all(),
    ),
    Count(
        "forewarn_notice_saved_seconds",
        _TYPE,
        "How much sooner than NotBefore they started, everybody having approved.",
        lambda look: look.numbers.notice_saved.all(),
    ),
    Count(
        "forewarn_promises_broken",
        _TYPE,
        "Maintenances that started unapproved before their notice was over. This must"
        " stay 0.",
        lambda look: look.numbers.broken.all(),
    ),
    Histogram(
        "forewarn_approval_latency_seconds",
        ("via",),
        "From announcement to approval of an event, by the way that the approval"
        " came; `policy` is the group's own setting.",
        lambda look: look.numbers.approvals.all(),
    ),
    Histogram(
        "forewarn_first_seen_seconds",
        _TYPE,
        "From announcement until a VM was first shown the event; events announced"
        " since the start.",
        lambda look: look.numbers.first_seen.all(),
    ),
    # --- the driver
    Gauge(
        "forewarn_driver_calls_running",
        (),
        "Calls of the driver that are under way.",
        lambda look: one(look.sources.calls()),
    ),
    Count(
        "forewarn_driver_calls",
        _TYPE,
        "Calls of the driver that were begun.",
        lambda look: look.numbers.driver_calls.all(),
    ),
    Histogram(
        "forewarn_driver_call_duration_seconds",
        _TYPE,
        "How long calls of the driver took, of real time.",
        lambda look: look.numbers.call_times.all(),
    ),
    Count(
        "forewarn_driver_reports",
        ("type", "result"),
        "VMs on which the driver reported its work `done` or `failed`.",
        lambda look: look.numbers.driver_reports.all(),
    ),
)


def _requests(look: Scrape) -> Values:
    return {
        (kind.route, kind.version, str(kind.status)): count
        for kind, count in look.sources.answered().items()
    }


def _not_admitted(look: Scrape) -> Values:
    counts = look.sources.not_admitted
    return {(how,): counts[verdict] for verdict, how in _TURNED_AWAY.items()}


def _faults(look: Scrape) -> Values:
    counts = look.sources.faults()
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
        lambda look: one(look.sources.held()),
    ),
    Gauge(
        "forewarn_metadata_connections",
        (),
        "Connections of VMs.",
        lambda look: one(look.sources.connections()),
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
        lambda look: look.traffic.requests.all(),
    ),
    Gauge(
        "forewarn_control_requests_in_flight",
        (),
        "Requests to the control plane that are being answered, streams and this"
        " scrape included.",
        lambda look: one(look.traffic.in_flight),
    ),
    Histogram(
        "forewarn_control_request_duration_seconds",
        ("method", "route"),
        "How long requests to the control plane took until the answer began.",
        lambda look: look.traffic.times.all(),
    ),
)
