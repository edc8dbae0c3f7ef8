"""Catalog of all metrics: each has a name, a help text, labels, and a source.

1. Labels are few and bounded: no names of VMs, no ids of events, no addresses. Of
   tokens, the first 100 that were limited are named.
2. Counts are plain numbers. The counters and histograms of prometheus_client take
   twice as long to collect, and 30 ms to import. Where PROMETHEUS_MULTIPROC_DIR is
   set, all services in a process would share them.
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

#: A number is a value without labels; None omits it.
Read: TypeAlias = Callable[[Scrape], Values | float | None]

Kind: TypeAlias = Literal["counter", "gauge", "histogram"]

Counts: TypeAlias = defaultdict[Labels, float]

_HOUR, _DAY = 3600, 86_400  # seconds

# Bucket bounds, in seconds.
_NOTICE = (30, 60, 300, 600, 900, 1800, _HOUR, 6 * _HOUR, _DAY, 7 * _DAY)
_REACTION = (1, 2, 5, 10, 30, 60, 120, 300, 600, 900, 1800, _HOUR, _DAY)
_CALL = (0.1, 0.5, 1, 5, 15, 60, 300, 900, _HOUR, 6 * _HOUR)
_REQUEST = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60)

#: By labels, their values that a count has from the start: monitoring sees an increase
#: only in a series that existed before.
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
    "told": (Admission.REFUSED,),
    "dropped": (Admission.DROPPED, Admission.FULL),
}


class Metric(NamedTuple):
    """Definition of a metric."""

    kind: Kind
    name: str  # without suffixes such as `_total`
    help: str
    labels: Labels
    read: Read


class Histogram:
    """Distributions of observed values, by labels."""

    def __init__(self, bounds: Sequence[float], expected: Iterable[Labels]) -> None:
        """Count values up to each of `bounds`, in ascending order."""
        self._bounds = bounds
        self._names = [*map(str, map(float, bounds)), "+Inf"]
        #: For each bound, how many values it was the first to include; then the sum.
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

    Hold `lock` to change a count: a scrape copies each metric under it.
    """

    def __init__(self) -> None:
        """Start all counts at zero."""
        self.lock = Lock()
        self.table: list[Metric] = []  # in the order of the output
        self._define_service()
        self._define_lifecycle()
        self._define_requests()

    def _define_service(self) -> None:
        self._read(
            "forewarn_build_info",
            "What is running; always 1.",
            lambda scrape: {(__version__, platform.python_version()): 1},
            labels=("version", "python"),
        )
        self._read(
            "forewarn_store_up",
            "Whether the store could be read, for this very scrape.",
            lambda scrape: scrape.journal is not None,
        )
        self._read(
            "forewarn_store_writable",
            "Whether writes to the store succeed; 0 from a failed write on, until a"
            " probe every 10 s could write to every table.",
            lambda scrape: _writes(scrape).failing_since is None,
        )
        self._read(
            "forewarn_store_write_failures",
            "Writes that failed because the store could not be used.",
            lambda scrape: _writes(scrape).failures,
            kind="counter",
        )
        self._read(
            "forewarn_store_size_bytes",
            "Size of the SQLite file with its log; absent for any other store.",
            lambda scrape: scrape.sources.store_bytes(),
        )
        self._read(
            "forewarn_journal_position",
            "How many facts the journal has; absent while the store is away.",
            lambda scrape: None if scrape.journal is None else scrape.journal.position,
        )
        self._read(
            "forewarn_reader_behind_facts",
            "Facts that a reader of the journal has not read; absent while the store is"
            " away.",
            lambda scrape: {(name,): lag.positions for name, lag in _lags(scrape)},
            labels=("reader",),
        )
        self._read(
            "forewarn_reader_lag_seconds",
            "Real time since the oldest fact that a reader has not read, 0 if there is"
            " none; absent while the store is away.",
            lambda scrape: {(name,): lag.seconds for name, lag in _lags(scrape)},
            labels=("reader",),
        )
        self._read(
            "forewarn_clock_rate",
            "How fast the service's clock runs; 0: it is moved by hand.",
            _rate,
        )
        self._read(
            "forewarn_clock_timestamp_seconds",
            "The time by the service's clock, since 1970.",
            lambda scrape: scrape.now.timestamp(),
        )
        self._read(
            "forewarn_clock_behind_journal_seconds",
            "How far the last journal entry is ahead of the clock; if more than 0, time"
            " stands still.",
            _clock_behind,
        )
        self._read(
            "forewarn_heartbeat_age_seconds",
            "Real time since the heartbeat was last written; it is written every 10 s.",
            _heartbeat,
        )
        self.outages = self._count(
            "forewarn_outages",
            "Times that the service was away for more than a minute, as far as it has"
            " noticed since the start.",
        )
        self.outage_seconds = self._count(
            "forewarn_outage_seconds",
            "How long it was away in these outages.",
        )
        # --- the fleet
        self._read(
            "forewarn_vms", "VMs of the fleet.", lambda scrape: scrape.presence.vms
        )
        self._read(
            "forewarn_vms_unseen",
            "VMs that have asked for events since the start, but last more than so many"
            " seconds ago, by the service's clock.",
            lambda scrape: {
                (str(limit),): count for limit, count in scrape.presence.unseen.items()
            },
            labels=("seconds",),
        )
        self._read(
            "forewarn_vms_never_seen",
            "VMs that have not asked for events since the start.",
            lambda scrape: scrape.presence.never,
        )
        self._read(
            "forewarn_groups_enabled",
            "Groups that have asked for events in the last 24 h, or always listen.",
            lambda scrape: scrape.presence.enabled,
        )
        self._read(
            "forewarn_groups_disabled",
            "Groups that have not asked for events in the last 24 h.",
            lambda scrape: scrape.presence.disabled,
        )
        self._read(
            "forewarn_notifier_behind_facts",
            "Facts of the journal that a notifier has not read, also those that it is"
            " not to tell; absent while the store is away.",
            lambda scrape: {(t.name,): t.behind for t in _targets(scrape)},
            labels=("target",),
        )
        self._read(
            "forewarn_notifier_lag_seconds",
            "Time since the oldest that it is still to tell; 0 if there is none.",
            lambda scrape: {(t.name,): t.lag_seconds for t in _targets(scrape)},
            labels=("target",),
        )
        self._read(
            "forewarn_notifier_failures",
            "Attempts of a notifier that failed, one after the other; 0 when one"
            " succeeds.",
            lambda scrape: {(t.name,): t.failures for t in _targets(scrape)},
            labels=("target",),
        )

    def _define_lifecycle(self) -> None:
        self._read(
            "forewarn_events",
            "Events that VMs see now.",
            _events,
            labels=("type", "phase"),
        )
        self._read(
            "forewarn_maintenances_stuck",
            "Maintenances that have started and whose driver failed.",
            lambda scrape: len(_stuck(scrape)),
        )
        self._read(
            "forewarn_stuck_oldest_seconds",
            "For how long the oldest of them has been stuck; 0 if there is none.",
            lambda scrape: max(_stuck(scrape), default=0.0),
        )
        moved = {
            f.Announced: ("forewarn_maintenances_announced", "announced"),
            f.Started: ("forewarn_maintenances_started", "started"),
            f.Completed: ("forewarn_maintenances_completed", "completed"),
            f.Canceled: (
                "forewarn_maintenances_canceled",
                "called off before they started",
            ),
            f.Closed: (
                "forewarn_maintenances_failed",
                "given up after they had started",
            ),
        }
        self.maintenances: Mapping[type[f.Fact], Counts] = {
            fact: self._count(
                name,
                f"Maintenances {meaning}.",
                labels=("type", "cause"),
            )
            for fact, (name, meaning) in moved.items()
        }
        self.notice_given = self._observe(
            "forewarn_notice_given_seconds",
            "Notice given, from announcement to NotBefore, of maintenances that"
            " started; not of those that were to begin at once.",
            labels=("type",),
            buckets=_NOTICE,
        )
        self.notice_used = self._observe(
            "forewarn_notice_used_seconds",
            "Notice used, from announcement to the start, of the same.",
            labels=("type",),
            buckets=_NOTICE,
        )
        self.notice_saved = self._count(
            "forewarn_notice_saved_seconds",
            "How much sooner than NotBefore they started, everybody having approved.",
            labels=("type",),
        )
        self.broken = self._count(
            "forewarn_promises_broken",
            "Maintenances that started unapproved before their notice was over. This"
            " must stay 0.",
            labels=("type",),
        )
        self.approvals = self._observe(
            "forewarn_approval_latency_seconds",
            "From announcement to approval of an event, by the way that the approval"
            " came; `policy` is the group's own setting.",
            labels=("via",),
            buckets=_REACTION,
        )
        self.first_seen = self._observe(
            "forewarn_first_seen_seconds",
            "From announcement until a VM was first shown the event; events announced"
            " since the start.",
            labels=("type",),
            buckets=_REACTION,
        )
        # --- the driver
        self._read(
            "forewarn_driver_calls_running",
            "Calls of the driver that are under way.",
            lambda scrape: scrape.sources.driver_runner.calls,
        )
        self.driver_calls = self._count(
            "forewarn_driver_calls",
            "Calls of the driver that were begun.",
            labels=("type",),
        )
        self.call_times = self._observe(
            "forewarn_driver_call_duration_seconds",
            "How long calls of the driver took, of real time.",
            labels=("type",),
            buckets=_CALL,
        )
        self.driver_reports = self._count(
            "forewarn_driver_reports",
            "VMs on which the driver reported its work `done` or `failed`.",
            labels=("type", "result"),
        )

    def _define_requests(self) -> None:
        self._read(
            "forewarn_metadata_requests",
            "Requests of VMs that were answered. `route` is scheduledevents, instance,"
            " versions or other; `api_version` one of the seven of scheduledevents,"
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
            "Requests that wait for a change of the document.",
            lambda scrape: _plane(scrape).long_polls.count,
        )
        self._read(
            "forewarn_metadata_connections",
            "Connections of VMs.",
            lambda scrape: _plane(scrape).limits.count,
        )
        self._read(
            "forewarn_metadata_connections_refused",
            "Connections beyond a limit: `told` so by a 503, or `dropped` without a"
            " word.",
            lambda scrape: {
                (how,): sum(_plane(scrape).limits.not_admitted[a] for a in admissions)
                for how, admissions in _NOT_ADMITTED.items()
            },
            labels=("how",),
            kind="counter",
        )
        self._read(
            "forewarn_metadata_refused",
            "Connections and requests that a limit refused. `limit` is connections,"
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
            "How often a connection of a VM that had sent much had to wait until others"
            " were served.",
            lambda scrape: _plane(scrape).turns.deferred,
            kind="counter",
        )
        self._read(
            "forewarn_faults",
            "Requests of VMs that were answered wrongly on purpose.",
            _faults,
            labels=("kind",),
            kind="counter",
        )
        self._read(
            "forewarn_user_operations_refused",
            "Operations on VMs that were refused with 409: `vm`, because the VM has one"
            " already; `group`, because its group has as many scheduled as it may.",
            lambda scrape: {
                (limit,): count
                for limit, count in scrape.sources.operations.refused.items()
            },
            labels=("limit",),
            kind="counter",
        )
        self._read(
            "forewarn_commands_refused",
            "Commands that were refused to share the store: `waiting` (429), because a"
            " group's token has as many waiting as it may; `time` (503), because"
            " others wrote for 10 seconds; `keys` (429), because the token has used as"
            " many Idempotency-Keys as it may.",
            _refused_commands,
            labels=("limit",),
            kind="counter",
        )
        self.requests = self._count(
            "forewarn_control_requests",
            "Requests to the control plane, by the template of their path; those of"
            " Azure Resource Manager are all `/subscriptions`.",
            labels=("method", "route", "status"),
        )
        self.in_flight = 0  # changed only on the control plane's loop
        self._read(
            "forewarn_control_requests_in_flight",
            "Requests to the control plane that are being answered, streams and this"
            " scrape included.",
            lambda scrape: self.in_flight,
        )
        self._read(
            "forewarn_control_requests_refused",
            "Requests of a token holder with too many `requests` or `streams` at once,"
            " or while `all tokens` together had too many, and those that waited too"
            " long for a slot because others were `running`; the first 100 tokens are"
            " named.",
            lambda scrape: scrape.sources.token_limits.refused.copy(),
            labels=("token", "limit"),
            kind="counter",
        )
        self._read(
            "forewarn_control_requests_waiting",
            "Requests of token holders, and reads of their streams, that wait for a"
            " slot to run in.",
            lambda scrape: scrape.sources.work_slots.waiting,
        )
        self._read(
            "forewarn_control_invalid_requests",
            "Requests to the control plane that were not HTTP or asked for an upgrade.",
            lambda scrape: scrape.sources.invalid_requests.total,
            kind="counter",
        )
        self._read(
            "forewarn_control_connections",
            "Connections to the control plane.",
            lambda scrape: scrape.sources.connections.count,
        )
        self._read(
            "forewarn_control_connections_refused",
            "Connections to the control plane that a limit refused or closed: its"
            " `address` or all together (`total`) had too many in use, an unused one"
            " was `replaced` by a new one, it was `silent` without a request, or its"
            " responses were `unread`.",
            lambda scrape: {
                (reason.value,): count
                for reason, count in scrape.sources.connections.ended.items()
            },
            labels=("reason",),
            kind="counter",
        )
        self.durations = self._observe(
            "forewarn_control_request_duration_seconds",
            "How long requests to the control plane took until the answer began.",
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
    """Return how long each stuck maintenance has been stuck, in seconds."""
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
