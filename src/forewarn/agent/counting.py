"""Metrics derived from audit entries and event states."""

from collections import Counter
from collections.abc import Iterable, Mapping

from forewarn.agent.lives import Life, Seen
from forewarn.agent.metrics import Metrics
from forewarn.agent.notes import Note
from forewarn.errors import ForewarnError, Refused


def count(note: Note, life: Life | None, metrics: Metrics) -> None:
    """Update the metrics for one audit entry."""
    details, event_type = note.said, "" if life is None else str(life.event.type)
    match note.what:
        case "decided":
            metrics.add("decisions_total", rule=str(details["rule"] or "none"))
            _observe(metrics, "notice_given_seconds", life and life.notice, event_type)
        case "hook-ended":
            step, outcome = str(details["step"]), str(details["outcome"])
            metrics.add("hooks_total", step=step, outcome=outcome)
            seconds = details["seconds"]
            if isinstance(seconds, float):
                metrics.observe("hook_seconds", seconds, step=step)
        case "approved":
            metrics.add("approvals_total", answer="200")
            _observe(
                metrics,
                "notice_used_seconds",
                details["notice_seconds_used"],
                event_type,
            )
        case "started" if details["approved_elsewhere"]:
            metrics.add("approved_elsewhere_total")
        case "gone" if details["after_start"] and life is not None:
            metrics.add("boots_total", float(life.impact.boots))
            _observe(metrics, "impact_seconds", life.impact.seconds, event_type)


def _observe(metrics: Metrics, name: str, value: object, event_type: str) -> None:
    if isinstance(value, int | float):
        metrics.observe(name, float(value), type=event_type)


def count_refusal(error: ForewarnError, metrics: Metrics) -> None:
    """Count a failed approval."""
    answer = str(error.status) if isinstance(error, Refused) else "unreachable"
    metrics.add("approvals_total", answer=answer)


def show(lives: Iterable[Life], metrics: Metrics) -> None:
    """Export the events that are in the document."""
    live = [life for life in lives if life.seen is not Seen.GONE]
    events: Mapping[tuple[str, ...], int] = Counter(
        (
            str(state.event.type),
            state.seen,
            "1" if state.is_mine else "0",
        )
        for state in live
    )
    metrics.replace("events", {labels: float(n) for labels, n in events.items()})
    due: Mapping[tuple[str, ...], float] = {
        (
            state.id,
            str(state.event.type),
        ): state.event.not_before.timestamp()
        for state in live
        if state.event.not_before is not None
    }
    metrics.replace("not_before_timestamp_seconds", due)
