"""Metrics of maintenance operations: announcements, notice, and the driver."""

from collections import Counter
from collections.abc import Callable, Sequence

from forewarn.core import facts as f
from forewarn.core.maintenance import Phase
from forewarn.engine.counting import Moved
from forewarn.protocol.types import EventType
from forewarn.server.metrics.kinds import Count, Gauge, Histogram, Metric, Values, one
from forewarn.server.metrics.sources import Look

_LIVE = tuple(phase for phase in Phase if phase.is_live)
_TYPE = ("type",)
_TYPE_AND_CAUSE = ("type", "cause")


def _events(look: Look) -> Values:
    counts = Counter(
        (str(maintenance.type), str(maintenance.phase))
        for maintenance in look.live
        for _ in maintenance.live_events
    )
    return {(kind, phase): counts[kind, phase] for kind in EventType for phase in _LIVE}


def _stuck(look: Look) -> Sequence[float]:
    """Return how long each stuck maintenance has been stuck, in seconds."""
    return [
        max((look.now - maintenance.stuck_since).total_seconds(), 0.0)
        for maintenance in look.live
        if maintenance.stuck_since is not None
    ]


def _moved(kind: type[Moved]) -> Callable[[Look], Values]:
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
