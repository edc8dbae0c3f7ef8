"""Summary of each event in the audit log: its numbers, and a verdict in sentences."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import assert_never

from forewarn.agent.audit import entries as e
from forewarn.agent.events.observation import normalize_event_id
from forewarn.agent.events.state import HookOutcome, Impact
from forewarn.formats import format_duration, format_times
from forewarn.protocol.codec import parse_date

#: Wording of a hook's outcome in a sentence.
ENDED: Mapping[str, str] = {
    HookOutcome.DONE: "succeeded",
    HookOutcome.FAILED: "failed",
    HookOutcome.CUT: "was cut",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EventSummary:
    """The summary of one event."""

    id: str
    type: str = "?"
    resources: tuple[str, ...] = ()
    source: str | None = None
    description: str | None = None
    not_before: datetime | None = None
    announced: float | None = None  # announced duration in seconds; None if unknown
    first_at: datetime | None = None
    notice: float | None = None  # seconds, when first seen; None if unknown
    is_mine: bool = False
    rule: str | None = None  # None if no rule matches
    #: By step and hook, the end of each.
    ran: Mapping[tuple[str, str], e.HookEndedEntry] = field(default_factory=dict)
    not_approved: str | None = None  # the latest reason
    approved_at: datetime | None = None
    used: float | None = None  # seconds of notice used before the approval
    started_at: datetime | None = None
    is_sudden: bool = False  # it was Started when first seen
    approved_elsewhere: bool = False
    gone_at: datetime | None = None
    is_canceled: bool = False
    impact: Impact | None = None  # None before it is measured
    outcome: str | None = None  # as the agent recorded it; None until then

    @property
    def left(self) -> float | None:
        """The unused seconds of notice; None if the agent did not approve the event."""
        if self.notice is None or self.used is None:
            return None
        return max(self.notice - self.used, 0.0)

    @property
    def failed(self) -> tuple[e.HookEndedEntry, ...]:
        """The hooks that did not succeed."""
        return tuple(hook for hook in self.ran.values() if not hook.is_done)


def summarize(entries: Iterable[e.RecordedEntry]) -> Mapping[str, EventSummary]:
    """Summarize the audit log; the keys are normalized event ids."""
    summaries: dict[str, EventSummary] = {}
    for entry in entries:
        if entry.event is not None:
            name = normalize_event_id(entry.event)
            summaries[name] = _add_entry(
                summaries.get(name) or EventSummary(id=entry.event), entry
            )
    return summaries


def verdict(summary: EventSummary) -> tuple[str, ...]:
    """Assess an event in sentences."""
    return tuple(
        sentence
        for part in (_notice, _end, _hooks, _impact)
        for sentence in part(summary)
    )


# --- one more entry ----------------------------------------------------------


def _add_entry(  # noqa: C901  # a case for each kind
    summary: EventSummary, entry: e.RecordedEntry
) -> EventSummary:
    """Add one more audit entry to a summary."""
    summary = replace(summary, first_at=summary.first_at or entry.at)
    match entry:
        case e.CameBackEntry():
            return EventSummary(id=summary.id, first_at=entry.at)
        case e.SeenEntry():
            return _seen(summary, entry)
        case e.DecidedEntry():
            return replace(summary, rule=entry.rule)
        case e.HookEndedEntry():
            ran = {**summary.ran, (entry.step, entry.hook): entry}
            return replace(summary, ran=ran)
        case e.ApprovedEntry():
            return replace(
                summary,
                approved_at=entry.at,
                used=entry.notice_seconds_used,
                not_approved=None,
            )
        case e.ApprovalFailedEntry() | e.NotApprovedEntry():
            return replace(summary, not_approved=entry.reason)
        case e.StartedEntry():
            return replace(
                summary,
                started_at=entry.at,
                is_sudden=entry.without_notice,
                approved_elsewhere=entry.approved_elsewhere,
            )
        case e.GoneEntry():
            return replace(
                summary,
                gone_at=entry.at,
                is_canceled=entry.canceled,
                impact=entry.impact,
            )
        case e.OverEntry():
            return replace(summary, outcome=entry.outcome)
        case (
            e.HookBeganEntry()
            | e.ApprovalSentEntry()
            | e.BeganEntry()
            | e.EndedEntry()
            | e.BlindEntry()
            | e.SeesAgainEntry()
            | e.NameMismatchEntry()
            | e.UnknownEntry()
        ):
            return summary
        case _:
            assert_never(entry)


def _seen(summary: EventSummary, entry: e.SeenEntry) -> EventSummary:
    shown = entry.event_as_shown
    announced = e.read_number(shown.get("DurationInSeconds"))
    return replace(
        summary,
        type=e.read_text(shown.get("EventType")) or summary.type,
        resources=e.read_names(shown.get("Resources")),
        source=e.read_text(shown.get("EventSource")),
        description=e.read_text(shown.get("Description")),
        not_before=e.utc(parse_date(shown.get("NotBefore"))),
        announced=None if announced is None or announced < 0 else announced,
        first_at=entry.at,
        notice=entry.notice_seconds,
        is_mine=entry.mine,
    )


# --- notice and approval -----------------------------------------------------


def _notice(summary: EventSummary) -> Iterator[str]:
    if summary.is_sudden:
        yield "It started without notice."
    elif summary.approved_at is not None:
        yield _approval_verdict(summary)
    elif summary.approved_elsewhere:
        yield f"Somebody else approved it: it started {_before_its_time(summary)}."
    else:
        yield _unapproved(summary)


def _approval_verdict(summary: EventSummary) -> str:
    approved = "This agent approved it"
    if summary.used is not None:
        approved += f" {format_duration(summary.used)} after first sight"
    if summary.left is None or summary.notice is None:
        return f"{approved}."
    left, notice = format_duration(summary.left), format_duration(summary.notice)
    return f"{approved}: {left} of {notice} of notice were left unused."


def _unapproved(summary: EventSummary) -> str:
    why = f": {summary.not_approved}" if summary.not_approved else ""
    if summary.notice is None:
        return f"This agent did not approve it{why}."
    notice = f"There were {format_duration(summary.notice)} of notice"
    return f"{notice}; this agent did not approve it{why}."


def _before_its_time(summary: EventSummary) -> str:
    if summary.not_before is None or summary.started_at is None:
        return "before its time"
    early = (summary.not_before - summary.started_at).total_seconds()
    return f"{format_duration(early)} before its time"


# --- end ---------------------------------------------------------------------


def _end(summary: EventSummary) -> Iterator[str]:
    if summary.is_canceled:
        yield f"It was called off{_since(summary)}."
    elif summary.gone_at is None and summary.started_at is None:
        yield "It has not started, as far as this record goes."
    elif summary.gone_at is None:
        yield "It is under way, as far as this record goes."
    elif summary.started_at is not None:
        lasted = (summary.gone_at - summary.started_at).total_seconds()
        yield f"It was under way for {format_duration(lasted)}."
    else:
        yield "It took place, and was not seen to start."


def _since(summary: EventSummary) -> str:
    if summary.first_at is None or summary.gone_at is None:
        return ""
    seconds = (summary.gone_at - summary.first_at).total_seconds()
    return f" {format_duration(seconds)} after first sight"


# --- hooks -------------------------------------------------------------------


def _hooks(summary: EventSummary) -> Iterator[str]:
    for failed in summary.failed:
        yield _failure(failed)
    if len(summary.ran) == 1 and not summary.failed:
        yield "Its hook succeeded."
    elif summary.ran and not summary.failed:
        yield f"All of its {len(summary.ran)} hooks succeeded."


def _failure(hook: e.HookEndedEntry) -> str:
    why = f": {hook.reason}" if hook.reason else ""
    ended = ENDED.get(hook.outcome, hook.outcome)
    return f"Hook {hook.hook} ({hook.step}) {ended}{why}."


# --- impact ------------------------------------------------------------------


def _impact(summary: EventSummary) -> Iterator[str]:
    if summary.impact is None or summary.is_canceled or not summary.is_mine:
        return
    impact = _describe_impact(summary.impact)
    if summary.announced is None:
        yield f"{impact}; how long it would take was not announced."
        return
    announced = f"{format_duration(summary.announced)} were announced"
    excess = summary.impact.total - summary.announced
    longer = f": it took {format_duration(excess)} longer" if excess >= 1 else ""
    yield f"{impact}; {announced}{longer}."


def _describe_impact(impact: Impact) -> str:
    longest, total = format_duration(impact.seconds), format_duration(impact.total)
    if impact.boots:
        often = format_times(impact.boots)
        return f"This VM was restarted {often}, and was down for {total}"
    if not impact.seconds:
        return "This VM was not seen to stand still"
    if longest == total:
        return f"This VM stood still for {total}"
    return f"This VM stood still for {longest} at most, {total} in all"
