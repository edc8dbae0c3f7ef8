"""Summary of each event in the audit log: its numbers and a verdict."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import assert_never

from forewarn.agent.audit import entries as e
from forewarn.agent.events.observation import normalize_event_id
from forewarn.agent.events.state import HookOutcome, Impact
from forewarn.formats import format_duration, format_times
from forewarn.protocol.codec import parse_date

_OUTCOMES: Mapping[str, str] = {
    HookOutcome.DONE: "succeeded",
    HookOutcome.FAILED: "failed",
    HookOutcome.CUT: "was stopped",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class EventSummary:
    """Summary of one event."""

    id: str
    type: str = "?"
    resources: tuple[str, ...] = ()
    source: str | None = None
    description: str | None = None
    not_before: datetime | None = None
    announced: float | None = None  # announced duration in seconds; None if unknown
    first_at: datetime | None = None
    notice: float | None = None  # seconds left when first seen; None if unknown
    is_mine: bool = False
    rule: str | None = None  # None if no rule matches
    #: The last entry of each hook, keyed by step and hook.
    ran: Mapping[tuple[str, str], e.HookEndedEntry] = field(default_factory=dict)
    not_approved: str | None = None  # the latest reason, if any
    approved_at: datetime | None = None
    used: float | None = None  # seconds of notice used before the approval
    started_at: datetime | None = None
    is_sudden: bool = False  # whether it was Started when first seen
    approved_elsewhere: bool = False
    gone_at: datetime | None = None
    is_canceled: bool = False
    impact: Impact | None = None  # None until measured
    outcome: str | None = None  # recorded by the agent; None until then

    @property
    def left(self) -> float | None:
        """The unused seconds of notice; None if the agent did not approve the event."""
        if self.notice is None or self.used is None:
            return None
        return max(self.notice - self.used, 0.0)

    @property
    def failed(self) -> tuple[e.HookEndedEntry, ...]:
        """The hooks that failed."""
        return tuple(hook for hook in self.ran.values() if not hook.is_done)


def summarize(entries: Iterable[e.RecordedEntry]) -> Mapping[str, EventSummary]:
    """Summarize the audit log; the keys are normalized event IDs."""
    summaries: dict[str, EventSummary] = {}
    for entry in entries:
        if entry.event is not None:
            name = normalize_event_id(entry.event)
            summaries[name] = _add_entry(
                summaries.get(name) or EventSummary(id=entry.event), entry
            )
    return summaries


def verdict(summary: EventSummary) -> tuple[str, ...]:
    """Return sentences that assess an event."""
    return tuple(
        sentence
        for part in (_notice, _end, _hooks, _impact)
        for sentence in part(summary)
    )


def wording(hook: e.HookEndedEntry) -> str:
    """Return the outcome of a hook as a verb."""
    if hook.outcome == HookOutcome.CUT and not hook.tries:
        return "did not finish"  # not started, or the agent died
    return _OUTCOMES.get(hook.outcome, hook.outcome)


# --- one more entry ----------------------------------------------------------


def _add_entry(  # noqa: C901  # a case for each kind
    summary: EventSummary, entry: e.RecordedEntry
) -> EventSummary:
    """Add one audit entry to a summary."""
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
        yield f"It started {_early(summary)}, but this agent had not approved it."
    else:
        yield _unapproved(summary)


def _approval_verdict(summary: EventSummary) -> str:
    approved = "This agent approved it"
    if summary.used is not None:
        approved += f" {format_duration(summary.used)} after first seeing it"
    if summary.left is None or summary.notice is None:
        return f"{approved}."
    left, notice = format_duration(summary.left), format_duration(summary.notice)
    return f"{approved}, with {left} of {notice} of notice left."


def _unapproved(summary: EventSummary) -> str:
    why = f": {summary.not_approved}" if summary.not_approved else ""
    if summary.notice is None:
        return f"This agent did not approve it{why}."
    notice = format_duration(summary.notice)
    return f"The notice was {notice}. This agent did not approve the event{why}."


def _early(summary: EventSummary) -> str:
    if summary.not_before is None or summary.started_at is None:
        return "early"
    early = (summary.not_before - summary.started_at).total_seconds()
    return f"{format_duration(early)} early"


# --- end ---------------------------------------------------------------------


def _end(summary: EventSummary) -> Iterator[str]:
    if summary.is_canceled:
        yield f"It was canceled{_since(summary)}."
    elif summary.gone_at is None and summary.started_at is None:
        yield "According to the audit log, it has not started yet."
    elif summary.gone_at is None:
        yield "According to the audit log, it is in progress."
    elif summary.started_at is not None:
        lasted = (summary.gone_at - summary.started_at).total_seconds()
        yield f"It was in progress for {format_duration(lasted)}."
    else:
        yield "It took place, but the agent did not see it start."


def _since(summary: EventSummary) -> str:
    if summary.first_at is None or summary.gone_at is None:
        return ""
    seconds = (summary.gone_at - summary.first_at).total_seconds()
    return f" {format_duration(seconds)} after the agent first saw it"


# --- hooks -------------------------------------------------------------------


def _hooks(summary: EventSummary) -> Iterator[str]:
    for failed in summary.failed:
        yield _failure(failed)
    if len(summary.ran) == 1 and not summary.failed:
        yield "The hook succeeded."
    elif summary.ran and not summary.failed:
        number = len(summary.ran)
        yield f"{'Both' if number == 2 else f'All {number}'} hooks succeeded."


def _failure(hook: e.HookEndedEntry) -> str:
    why = f": {hook.reason}" if hook.reason else ""
    return f"Hook {hook.hook} ({hook.step}) {wording(hook)}{why}."


# --- impact ------------------------------------------------------------------


def _impact(summary: EventSummary) -> Iterator[str]:
    if summary.impact is None or summary.is_canceled or not summary.is_mine:
        return
    impact = _describe_impact(summary.impact)
    if summary.announced is None:
        yield f"{impact}. No duration was announced."
        return
    announced = f"The announced duration was {format_duration(summary.announced)}"
    excess = summary.impact.total - summary.announced
    longer = (
        f"; the interruption exceeded it by {format_duration(excess)}"
        if excess >= 1
        else ""
    )
    yield f"{impact}. {announced}{longer}."


def _describe_impact(impact: Impact) -> str:
    longest, total = format_duration(impact.seconds), format_duration(impact.total)
    if impact.boots:
        often = format_times(impact.boots)
        return f"This VM was restarted {often} and was down for {total}"
    if not impact.seconds:
        return "No interruption was measured on this VM"
    if longest == total:
        return f"This VM was interrupted for {total}"
    return f"This VM was interrupted for {total} in total, at most {longest} at a time"
