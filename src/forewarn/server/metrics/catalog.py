"""Catalog of all metrics, each with a name, help text, labels and a source.

1. Labels are few and bounded: no VM names, event IDs or addresses. At most the first
   100 limited tokens are named.
2. Counts are plain numbers. The counters and histograms in prometheus_client take twice
   as long to collect and 30 ms to import. If PROMETHEUS_MULTIPROC_DIR is set, all
   services in a process would share their counts.
"""

import platform
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import accumulate
from math import isfinite
from threading import Lock
from typing import Any, Literal, NamedTuple, TypeAlias

from forewarn import __version__
from forewarn.clocks import ManualClock
from forewarn.core.faults import FaultKind
from forewarn.core.health import WriteHealth
from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.model import Cause, Phase, Via
from forewarn.engine.readers.notifications import TargetStatus
from forewarn.protocol.types import EventType
from forewarn.server.metadata.faults.plane import InstrumentedPlane
from forewarn.server.metadata.limits import Admission
from forewarn.server.metrics.sources import ReaderLag, Scrape

#: Label values, in the order in which the metric declares its labels.
Labels: TypeAlias = tuple[str, ...]

#: Numbers, or the buckets and sums of a histogram.
Values: TypeAlias = Mapping[Labels, Any]

#: A number is a value without labels; None omits the metric.
Read: TypeAlias = Callable[[Scrape], Values | float | None]

Kind: TypeAlias = Literal["counter", "gauge", "histogram"]

Counts: TypeAlias = defaultdict[Labels, float]

_HOUR, _DAY = 3600, 86_400  # seconds

# Bucket bounds, in seconds.
_NOTICE = (30, 60, 300, 600, 900, 1800, _HOUR, 6 * _HOUR, _DAY, 7 * _DAY)
_REACTION = (1, 2, 5, 10, 30, 60, 120, 300, 600, 900, 1800, _HOUR, _DAY)
_CALL = (0.1, 0.5, 1, 5, 15, 60, 300, 900, _HOUR, 6 * _HOUR)
_REQUEST = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60)

#: The series that a count has from the start, keyed by its labels. Monitoring detects
#: increases only in series that already exist.
_EXPECTED: Mapping[Labels, Sequence[Labels]] = {
    (): [()],
    ("type",): [(kind,) for kind in EventType],
    ("type", "cause"): [
        (EventType.FREEZE, Cause.PLATFORM),
        (EventType.REBOOT, Cause.PLATFORM),
        (EventType.REDEPLOY, Cause.PLATFORM),
        (EventType.REDEPLOY, Cause.DEGRADED),
        (EventType.REBOOT, Cause.HOST_FAILURE),
        (EventType.REBOOT, Cause.USER_RESTART),
        (EventType.REDEPLOY, Cause.USER_REDEPLOY),
        (EventType.PREEMPT, Cause.EVICTION),
        (EventType.TERMINATE, Cause.SCALE_IN),
        (EventType.REBOOT, Cause.REIMAGE),
    ],
    ("type", "result"): [
        (kind, how) for kind in EventType for how in ("done", "failed")
    ],
    ("via",): [(via,) for via in Via],
}

_LIVE = tuple(phase for phase in Phase if phase.is_live)
_NOT_ADMITTED = {
    "refused": (Admission.REFUSED,),
    "dropped": (Admission.DROPPED, Admission.FULL),
}


class Metric(NamedTuple):
    """The definition of a metric."""

    kind: Kind
    name: str  # without suffixes such as `_total`
    help: str
    labels: Labels
    read: Read


class Histogram:
    """Distributions of observed values, one for each combination of label values."""

    def __init__(self, bounds: Sequence[float], expected: Iterable[Labels]) -> None:
        """Create buckets with the upper `bounds`, in ascending order."""
        self._bounds = bounds
        self._names = [*map(str, map(float, bounds)), "+Inf"]
        #: The number of values in each bucket, not cumulative, followed by the sum.
        self._values = {labels: self._empty() for labels in expected}

    def observe(self, value: float, *labels: str) -> None:
        """Add one value."""
        values = self._values.setdefault(labels, self._empty())
        values[bisect_left(self._bounds, value)] += 1
        values[-1] += value

    def all(self) -> Values:
        """Return the cumulative buckets and the sum of each distribution."""
        return {
            labels: ([*zip(self._names, accumulate(counts), strict=True)], total)
            for labels, (*counts, total) in self._values.items()
        }

    def _empty(self) -> list[float]:
        return [0.0] * (len(self._names) + 1)


class ServiceMetrics:
    """All metrics of one service.

    Hold `lock` to change a count, because a scrape holds it to copy each metric.
    """

    def __init__(self) -> None:
        """Create all metrics, with counts of zero."""
        self.lock = Lock()
        self.table: list[Metric] = []  # in output order
        self._define_service()
        self._define_lifecycle()
        self._define_requests()

    def _define_service(self) -> None:
        self._read(
            "forewarn_build_info",
            "Always 1. The labels contain the versions of forewarn and Python.",
            lambda scrape: {(__version__, platform.python_version()): 1},
            labels=("version", "python"),
        )
        self._read(
            "forewarn_store_up",
            "1 if this scrape could read the store, otherwise 0.",
            lambda scrape: scrape.journal is not None,
        )
        self._read(
            "forewarn_store_writable",
            "1 if writes to the store succeed, otherwise 0. After a failed write,"
            " the value stays 0 until a probe has written to every table; probes"
            " run every 10 s.",
            lambda scrape: _writes(scrape).failing_since is None,
        )
        self._read(
            "forewarn_store_write_failures",
            "Writes that failed because the store was unavailable.",
            lambda scrape: _writes(scrape).failures,
            kind="counter",
        )
        self._read(
            "forewarn_store_size_bytes",
            "Total size of the SQLite file and its write-ahead log; absent for"
            " other stores.",
            lambda scrape: scrape.sources.store_bytes(),
        )
        self._read(
            "forewarn_journal_position",
            "Number of journal entries; absent while the store is unavailable.",
            lambda scrape: None if scrape.journal is None else scrape.journal.position,
        )
        self._read(
            "forewarn_reader_behind_facts",
            "Journal entries that a reader has not read yet; absent while the store"
            " is unavailable.",
            lambda scrape: {(name,): lag.positions for name, lag in _lags(scrape)},
            labels=("reader",),
        )
        self._read(
            "forewarn_reader_lag_seconds",
            "Real-time age of the oldest journal entry that a reader has not read"
            " yet, or 0 if there is none; absent while the store is unavailable.",
            lambda scrape: {(name,): lag.seconds for name, lag in _lags(scrape)},
            labels=("reader",),
        )
        self._read(
            "forewarn_clock_rate",
            "Speed of the service's clock relative to real time; 0 for a manual clock.",
            _rate,
        )
        self._read(
            "forewarn_clock_timestamp_seconds",
            "The service's time, in seconds since 1970.",
            lambda scrape: scrape.now.timestamp(),
        )
        self._read(
            "forewarn_clock_behind_journal_seconds",
            "How far the clock is behind the last journal entry. While the value is"
            " above 0, the service's clock is paused.",
            _clock_behind,
        )
        self._read(
            "forewarn_heartbeat_age_seconds",
            "Real time since the last heartbeat, which the service saves every 10 s.",
            _heartbeat,
        )
        self.outages = self._count(
            "forewarn_outages",
            "Outages of more than a minute that the service has detected since it"
            " started.",
        )
        self.outage_seconds = self._count(
            "forewarn_outage_seconds",
            "Total duration of outages of more than a minute that the service has"
            " detected since it started.",
        )
        # --- the fleet
        self._read(
            "forewarn_vms", "VMs in the fleet.", lambda scrape: scrape.presence.vms
        )
        self._read(
            "forewarn_vms_unseen",
            "VMs that have polled since the service started, but not in the last"
            " `seconds` seconds of the service's time.",
            lambda scrape: {
                (str(limit),): count for limit, count in scrape.presence.unseen.items()
            },
            labels=("seconds",),
        )
        self._read(
            "forewarn_vms_never_seen",
            "VMs that have not polled since the service started.",
            lambda scrape: scrape.presence.never,
        )
        self._read(
            "forewarn_groups_enabled",
            "Groups with Scheduled Events enabled: those that polled in the last 24"
            " h, and those that are always enabled.",
            lambda scrape: scrape.presence.enabled,
        )
        self._read(
            "forewarn_groups_disabled",
            "Groups with Scheduled Events disabled, because they have not polled in"
            " the last 24 h.",
            lambda scrape: scrape.presence.disabled,
        )
        self._read(
            "forewarn_notifier_behind_facts",
            "Journal entries that a notification target has not processed,"
            " including those it does not receive; absent while the store is"
            " unavailable.",
            lambda scrape: {(t.name,): t.behind for t in _targets(scrape)},
            labels=("target",),
        )
        self._read(
            "forewarn_notifier_lag_seconds",
            "Age of the oldest undelivered journal entry, or 0 if there is none.",
            lambda scrape: {(t.name,): t.lag_seconds for t in _targets(scrape)},
            labels=("target",),
        )
        self._read(
            "forewarn_notifier_failures",
            "Consecutive failed deliveries; 0 after a success.",
            lambda scrape: {(t.name,): t.failures for t in _targets(scrape)},
            labels=("target",),
        )

    def _define_lifecycle(self) -> None:
        self._read(
            "forewarn_events",
            "Events that are visible to VMs.",
            _events,
            labels=("type", "phase"),
        )
        self._read(
            "forewarn_maintenances_stuck",
            "Maintenance operations that are stuck because the driver failed.",
            lambda scrape: len(_stuck(scrape)),
        )
        self._read(
            "forewarn_stuck_oldest_seconds",
            "How long the maintenance operation that got stuck first has been"
            " stuck, or 0 if none are stuck.",
            lambda scrape: max(_stuck(scrape), default=0.0),
        )
        moved = {
            f.Announced: ("forewarn_maintenances_announced", "announced"),
            f.Started: ("forewarn_maintenances_started", "started"),
            f.Completed: ("forewarn_maintenances_completed", "completed"),
            f.Canceled: (
                "forewarn_maintenances_canceled",
                "canceled before they started",
            ),
            f.Closed: (
                "forewarn_maintenances_failed",
                "closed as failed after they started",
            ),
        }
        self.maintenances: Mapping[type[f.Fact], Counts] = {
            fact: self._count(
                name,
                f"Maintenance operations {meaning}.",
                labels=("type", "cause"),
            )
            for fact, (name, meaning) in moved.items()
        }
        self.notice_given = self._observe(
            "forewarn_notice_given_seconds",
            "Notice given, from the announcement to NotBefore, for maintenance"
            " operations that started. Excludes those that start immediately.",
            labels=("type",),
            buckets=_NOTICE,
        )
        self.notice_used = self._observe(
            "forewarn_notice_used_seconds",
            "Notice used, from the announcement to the start, for the operations"
            " counted by forewarn_notice_given_seconds.",
            labels=("type",),
            buckets=_NOTICE,
        )
        self.notice_saved = self._count(
            "forewarn_notice_saved_seconds",
            "Time between the start and NotBefore of maintenance operations that"
            " started early because all groups approved them.",
            labels=("type",),
        )
        self.broken = self._count(
            "forewarn_promises_broken",
            "Maintenance operations that started without approval before their"
            " notice period ended. Must stay 0.",
            labels=("type",),
        )
        self.approvals = self._observe(
            "forewarn_approval_latency_seconds",
            "Time from announcement to approval of an event, by channel; `policy`"
            " means that a group setting approved it in advance.",
            labels=("via",),
            buckets=_REACTION,
        )
        self.first_seen = self._observe(
            "forewarn_first_seen_seconds",
            "Time from announcement until a VM first saw the event, for events"
            " announced since the service started.",
            labels=("type",),
            buckets=_REACTION,
        )
        # --- the driver
        self._read(
            "forewarn_driver_calls_running",
            "Driver calls in progress.",
            lambda scrape: scrape.sources.driver_runner.calls,
        )
        self.driver_calls = self._count(
            "forewarn_driver_calls",
            "Driver calls started.",
            labels=("type",),
        )
        self.call_times = self._observe(
            "forewarn_driver_call_duration_seconds",
            "Duration of driver calls in real time.",
            labels=("type",),
            buckets=_CALL,
        )
        self.driver_reports = self._count(
            "forewarn_driver_reports",
            "VMs that the driver reported as `done` or `failed`.",
            labels=("type", "result"),
        )

    def _define_requests(self) -> None:
        self._read(
            "forewarn_metadata_requests",
            "Responses to VMs. `route` is scheduledevents, instance, versions or"
            " other; `api_version` is one of the seven scheduledevents versions,"
            " none or other.",
            lambda scrape: {
                (kind.route, kind.version, str(kind.status)): count
                for kind, count in _plane(scrape).handler.counts.all().items()
            },
            labels=("route", "api_version", "status"),
            kind="counter",
        )
        self._read(
            "forewarn_metadata_requests_held",
            "Long polls that are waiting for the document to change.",
            lambda scrape: _plane(scrape).long_polls.count,
        )
        self._read(
            "forewarn_metadata_connections",
            "Open connections to the metadata plane.",
            lambda scrape: _plane(scrape).limits.count,
        )
        self._read(
            "forewarn_metadata_connections_refused",
            "Connections beyond a limit, refused with a 503 or, if `dropped`, closed"
            " without a response.",
            lambda scrape: {
                (how,): sum(_plane(scrape).limits.not_admitted[a] for a in admissions)
                for how, admissions in _NOT_ADMITTED.items()
            },
            labels=("how",),
            kind="counter",
        )
        self._read(
            "forewarn_metadata_refused",
            "Connections and requests refused because of a limit: connections,"
            " strangers, total_connections, requests, approvals or approved_events."
            " `forewarn fleet show` names the VMs.",
            lambda scrape: {
                (limit.value,): count
                for limit, count in _plane(scrape).handler.refusals.totals.items()
            },
            labels=("limit",),
            kind="counter",
        )
        self._read(
            "forewarn_metadata_turns_deferred",
            "Number of times that a connection with a large backlog of requests had"
            " to wait its turn.",
            lambda scrape: _plane(scrape).turns.deferred,
            kind="counter",
        )
        self._read(
            "forewarn_faults",
            "Requests from VMs that were affected by an injected fault.",
            _faults,
            labels=("kind",),
            kind="counter",
        )
        self._read(
            "forewarn_user_operations_refused",
            "Operations on VMs refused with 409: `vm` if the VM already has one,"
            " `group` if its group has reached its limit of scheduled operations.",
            lambda scrape: {
                (limit,): count
                for limit, count in scrape.sources.operations.refused.items()
            },
            labels=("limit",),
            kind="counter",
        )
        self._read(
            "forewarn_commands_refused",
            "Commands refused so that others can use the store: `waiting` (429) if"
            " a group's token has too many waiting commands, `time` (503) if others"
            " wrote for 10 seconds, `keys` (429) if the token has used too many"
            " idempotency keys.",
            _refused_commands,
            labels=("limit",),
            kind="counter",
        )
        self.requests = self._count(
            "forewarn_control_requests",
            "Requests to the control plane, by path template; all requests to the"
            " Azure Resource Manager API count as `/subscriptions`.",
            labels=("method", "route", "status"),
        )
        self.in_flight = 0  # changed only on the control plane's loop
        self._read(
            "forewarn_control_requests_in_flight",
            "Requests to the control plane in progress, including streams and this"
            " scrape.",
            lambda scrape: self.in_flight,
        )
        self._read(
            "forewarn_control_requests_refused",
            "Requests refused because a token, or `all tokens` together, had too"
            " many `requests` or `streams`, or because no slot became free while"
            " others were `running`. Names the first 100 tokens.",
            lambda scrape: scrape.sources.token_limits.refused.copy(),
            labels=("token", "limit"),
            kind="counter",
        )
        self._read(
            "forewarn_control_requests_waiting",
            "Requests with a token that are waiting for a slot, including reads of"
            " their streams.",
            lambda scrape: scrape.sources.work_slots.waiting,
        )
        self._read(
            "forewarn_control_invalid_requests",
            "Requests to the control plane that were not HTTP or requested a"
            " protocol upgrade.",
            lambda scrape: scrape.sources.invalid_requests.total,
            kind="counter",
        )
        self._read(
            "forewarn_control_connections",
            "Open connections to the control plane.",
            lambda scrape: scrape.sources.connections.count,
        )
        self._read(
            "forewarn_control_connections_refused",
            "Connections to the control plane refused or closed because of a limit:"
            " `address` or `total` (too many in use, from one address or overall),"
            " `replaced` (idle, replaced by a new connection), `silent` (sent no"
            " request), or `unread` (did not read its responses).",
            lambda scrape: {
                (reason.value,): count
                for reason, count in scrape.sources.connections.ended.items()
            },
            labels=("reason",),
            kind="counter",
        )
        self.durations = self._observe(
            "forewarn_control_request_duration_seconds",
            "Time from the request to the start of the response.",
            labels=("method", "route"),
            buckets=_REQUEST,
        )

    def _count(self, name: str, help_: str, labels: Labels = ()) -> Counts:
        """Define a counter."""
        counts = Counts(float, dict.fromkeys(_EXPECTED.get(labels, ()), 0.0))
        self._read(name, help_, self._locked(counts.copy), labels, "counter")
        return counts

    def _observe(
        self, name: str, help_: str, labels: Labels, buckets: Sequence[float]
    ) -> Histogram:
        """Define a histogram with `buckets` as upper bounds, in ascending order."""
        histogram = Histogram(buckets, _EXPECTED.get(labels, ()))
        self._read(name, help_, self._locked(histogram.all), labels, "histogram")
        return histogram

    def _locked(self, copy: Callable[[], Values]) -> Read:
        def read(scrape: Scrape) -> Values:
            with self.lock:
                return copy()

        return read

    def _read(
        self,
        name: str,
        help_: str,
        read: Read,
        labels: Labels = (),
        kind: Kind = "gauge",
    ) -> None:
        """Define a metric that is read at each scrape."""
        self.table.append(Metric(kind, name, help_, labels, read))


def _lags(scrape: Scrape) -> Iterable[tuple[str, ReaderLag]]:
    return () if scrape.journal is None else scrape.journal.lags.items()


def _plane(scrape: Scrape) -> InstrumentedPlane:
    return scrape.sources.plane


def _writes(scrape: Scrape) -> WriteHealth:
    return scrape.sources.engine.health.writes


def _clock_behind(scrape: Scrape) -> float:
    until = scrape.sources.engine.health.standstill
    return 0.0 if until is None else (until - scrape.now).total_seconds()


def _rate(scrape: Scrape) -> float:
    clock = scrape.sources.engine.clock
    return 0 if isinstance(clock, ManualClock) else clock.rate


def _heartbeat(scrape: Scrape) -> float | None:
    since = scrape.sources.timers.since_heartbeat
    return since if isfinite(since) else None


def _targets(scrape: Scrape) -> Sequence[TargetStatus]:
    return () if scrape.journal is None else scrape.journal.targets


def _events(scrape: Scrape) -> Values:
    counts = Counter(
        (str(maintenance.type), str(maintenance.phase))
        for maintenance in scrape.live
        for _ in maintenance.live_events
    )
    return {(kind, phase): counts[kind, phase] for kind in EventType for phase in _LIVE}


def _stuck(scrape: Scrape) -> Sequence[float]:
    """Return how long each stuck maintenance operation has been stuck, in seconds."""
    return [
        max((scrape.now - maintenance.stuck_since).total_seconds(), 0.0)
        for maintenance in scrape.live
        if maintenance.stuck_since is not None
    ]


def _refused_commands(scrape: Scrape) -> Values:
    engine = scrape.sources.engine
    refused = {**engine.write_queue.refused, "keys": engine.receipts.refused}
    return {(limit,): count for limit, count in refused.items()}


def _faults(scrape: Scrape) -> Values:
    counts = _plane(scrape).faults.counts()
    return {(kind.value,): counts.get(kind, 0) for kind in FaultKind}
