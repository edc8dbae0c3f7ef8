"""Summary of each event in the audit log: its numbers, and a verdict in sentences."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from forewarn.agent.audit.entries import (
    RecordedEntry,
    format_count,
    format_duration,
    utc,
)
from forewarn.agent.events.observation import normalize_event_id
from forewarn.agent.events.state import HookOutcome, Impact
from forewarn.protocol.codec import parse_date

#: Wording of a hook's outcome in a sentence.
ENDED: Mapping[str, str] = {
    HookOutcome.DONE: "succeeded",
    HookOutcome.FAILED: "failed",
    HookOutcome.CUT: "was cut",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class HookSummary:
    """The result of one hook in one step."""

    step: str
    hook: str
    outcome: str
    seconds: float | None  # None if unknown
    reason: str | None

    @property
    def is_done(self) -> bool:
        """Whether it succeeded."""
        return self.outcome == HookOutcome.DONE


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
    last_at: datetime | None = None
    notice: float | None = None  # seconds, when first seen; None if unknown
    is_mine: bool = False
    rule: str | None = None  # None if no rule matches
    #: By step and hook; None if none has ended.
    ran: Mapping[tuple[str, str], HookSummary] | None = None
    not_approved: str | None = None  # the latest reason
    approved_at: datetime | None = None
    answer: str | None = None
    used: float | None = None  # seconds of notice used before the approval
    started_at: datetime | None = None
    is_sudden: bool = False  # it was Started when first seen
    is_early: bool = False
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
    def failed(self) -> tuple[HookSummary, ...]:
        """The hooks that did not succeed."""
        return tuple(
            result for result in (self.ran or {}).values() if not result.is_done
        )


def summarize(entries: Iterable[RecordedEntry]) -> Mapping[str, EventSummary]:
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


def _add_entry(summary: EventSummary, entry: RecordedEntry) -> EventSummary:
    """Add one more audit entry to a summary."""
    updated = replace(
        summary,
        first_at=summary.first_at or entry.at,
        last_at=entry.at or summary.last_at,
    )
    update = _UPDATES.get(entry.what)
    return updated if update is None else update(updated, entry)


def _came_back(summary: EventSummary, entry: RecordedEntry) -> EventSummary:
    return EventSummary(id=summary.id, first_at=entry.at, last_at=entry.at)


def _seen(summary: EventSummary, entry: RecordedEntry) -> EventSummary:
    shown = entry.part("event_as_shown")
    announced = shown.number("DurationInSeconds")
    return replace(
        summary,
        type=shown.text("EventType") or summary.type,
        resources=shown.names("Resources"),
        source=shown.text("EventSource"),
        description=shown.text("Description"),
        not_before=utc(parse_date(shown.plain.get("NotBefore"))),
        announced=None if announced is None or announced < 0 else announced,
        first_at=entry.at,
        notice=entry.number("notice_seconds"),
        is_mine=entry.is_true("mine"),
    )


def _decided(summary: EventSummary, entry: RecordedEntry) -> EventSummary:
    return replace(summary, rule=entry.text("rule"))


def _hook_ended(summary: EventSummary, entry: RecordedEntry) -> EventSummary:
    hook = HookSummary(
        step=entry.text("step") or "?",
        hook=entry.text("hook") or "?",
        outcome=entry.text("outcome") or "?",
        seconds=entry.number("seconds"),
        reason=entry.text("reason"),
    )
    return replace(summary, ran={**(summary.ran or {}), (hook.step, hook.hook): hook})


def _approved(summary: EventSummary, entry: RecordedEntry) -> EventSummary:
    return replace(
        summary,
        approved_at=entry.at,
        answer=entry.text("answer"),
        used=entry.number("notice_seconds_used"),
        not_approved=None,
    )


def _not_approved(summary: EventSummary, entry: RecordedEntry) -> EventSummary:
    return replace(summary, not_approved=entry.text("reason"))


def _started(summary: EventSummary, entry: RecordedEntry) -> EventSummary:
    return replace(
        summary,
        started_at=entry.at,
        is_sudden=entry.is_true("without_notice"),
        is_early=entry.is_true("early"),
        approved_elsewhere=entry.is_true("approved_elsewhere"),
    )


def _gone(summary: EventSummary, entry: RecordedEntry) -> EventSummary:
    impact = entry.part("impact")
    return replace(
        summary,
        gone_at=entry.at,
        is_canceled=entry.is_true("canceled"),
        impact=Impact(
            boots=int(impact.number("boots") or 0),
            seconds=impact.number("seconds") or 0.0,
            total=impact.number("total") or 0.0,
        ),
    )


def _over(summary: EventSummary, entry: RecordedEntry) -> EventSummary:
    return replace(summary, outcome=entry.text("outcome"))


_UPDATES: Mapping[str, Callable[[EventSummary, RecordedEntry], EventSummary]] = {
    "came-back": _came_back,
    "seen": _seen,
    "decided": _decided,
    "hook-ended": _hook_ended,
    "approved": _approved,
    "approval-failed": _not_approved,
    "not-approved": _not_approved,
    "started": _started,
    "gone": _gone,
    "over": _over,
}


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
    ran = summary.ran or {}
    for failed in summary.failed:
        yield _failure(failed)
    if len(ran) == 1 and not summary.failed:
        yield "Its hook succeeded."
    elif ran and not summary.failed:
        yield f"All of its {len(ran)} hooks succeeded."


def _failure(hook: HookSummary) -> str:
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
        often = format_count(impact.boots)
        return f"This VM was restarted {often}, and was down for {total}"
    if not impact.seconds:
        return "This VM was not seen to stand still"
    if longest == total:
        return f"This VM stood still for {total}"
    return f"This VM stood still for {longest} at most, {total} in all"
