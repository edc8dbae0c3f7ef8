"""Summary of each event from the audit log, in numbers: the basis of reports."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from forewarn.agent.audit.entries import RecordedEntry, span, times, utc
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
    ran: Mapping[tuple[str, str], HookSummary] | None = (
        None  # by step and hook; None if none
    )
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


def summarize(remarks: Iterable[RecordedEntry]) -> Mapping[str, EventSummary]:
    """Summarize the audit log; the keys are those of `key` for each event's id."""
    summaries: dict[str, EventSummary] = {}
    for remark in remarks:
        if remark.event is not None:
            name = normalize_event_id(remark.event)
            summaries[name] = add_entry(
                summaries.get(name) or EventSummary(id=remark.event), remark
            )
    return summaries


def add_entry(account: EventSummary, remark: RecordedEntry) -> EventSummary:
    """Add one more audit entry to a summary."""
    updated = replace(
        account,
        first_at=account.first_at or remark.at,
        last_at=remark.at or account.last_at,
    )
    take = _TAKE.get(remark.what)
    return updated if take is None else take(updated, remark)


def _came_back(account: EventSummary, remark: RecordedEntry) -> EventSummary:
    return EventSummary(id=account.id, first_at=remark.at, last_at=remark.at)


def _seen(account: EventSummary, remark: RecordedEntry) -> EventSummary:
    shown = remark.part("event_as_shown")
    announced = shown.number("DurationInSeconds")
    return replace(
        account,
        type=shown.text("EventType") or account.type,
        resources=shown.names("Resources"),
        source=shown.text("EventSource"),
        description=shown.text("Description"),
        not_before=utc(parse_date(shown.plain.get("NotBefore"))),
        announced=None if announced is None or announced < 0 else announced,
        first_at=remark.at,
        notice=remark.number("notice_seconds"),
        is_mine=remark.is_so("mine"),
    )


def _decided(account: EventSummary, remark: RecordedEntry) -> EventSummary:
    return replace(account, rule=remark.text("rule"))


def _hook_ended(account: EventSummary, remark: RecordedEntry) -> EventSummary:
    ran = HookSummary(
        step=remark.text("step") or "?",
        hook=remark.text("hook") or "?",
        outcome=remark.text("outcome") or "?",
        seconds=remark.number("seconds"),
        reason=remark.text("reason"),
    )
    return replace(account, ran={**(account.ran or {}), (ran.step, ran.hook): ran})


def _approved(account: EventSummary, remark: RecordedEntry) -> EventSummary:
    return replace(
        account,
        approved_at=remark.at,
        answer=remark.text("answer"),
        used=remark.number("notice_seconds_used"),
        not_approved=None,
    )


def _not_approved(account: EventSummary, remark: RecordedEntry) -> EventSummary:
    return replace(account, not_approved=remark.text("reason"))


def _started(account: EventSummary, remark: RecordedEntry) -> EventSummary:
    return replace(
        account,
        started_at=remark.at,
        is_sudden=remark.is_so("without_notice"),
        is_early=remark.is_so("early"),
        approved_elsewhere=remark.is_so("approved_elsewhere"),
    )


def _gone(account: EventSummary, remark: RecordedEntry) -> EventSummary:
    felt = remark.part("impact")
    return replace(
        account,
        gone_at=remark.at,
        is_canceled=remark.is_so("canceled"),
        impact=Impact(
            boots=int(felt.number("boots") or 0),
            seconds=felt.number("seconds") or 0.0,
            total=felt.number("total") or 0.0,
        ),
    )


def _over(account: EventSummary, remark: RecordedEntry) -> EventSummary:
    return replace(account, outcome=remark.text("outcome"))


_TAKE: Mapping[str, Callable[[EventSummary, RecordedEntry], EventSummary]] = {
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


def verdict(account: EventSummary) -> tuple[str, ...]:
    """Assess an event in sentences."""
    return tuple(
        sentence
        for part in (_notice, _end, _hooks, _impact)
        for sentence in part(account)
    )


# --- notice and approval -------------------------------------------------------


def _notice(account: EventSummary) -> Iterator[str]:
    if account.is_sudden:
        yield "It started without notice."
    elif account.approved_at is not None:
        yield _approval_verdict(account)
    elif account.approved_elsewhere:
        yield f"Somebody else approved it: it started {_before_its_time(account)}."
    else:
        yield _unapproved(account)


def _approval_verdict(account: EventSummary) -> str:
    after = "" if account.used is None else f" {span(account.used)} after first sight"
    if account.left is None or account.notice is None:
        return f"This agent approved it{after}."
    of = f"of {span(account.notice)} of notice"
    return f"This agent approved it{after}: {span(account.left)} {of} were left unused."


def _unapproved(account: EventSummary) -> str:
    why = f": {account.not_approved}" if account.not_approved else ""
    if account.notice is None:
        return f"This agent did not approve it{why}."
    notice = f"There were {span(account.notice)} of notice"
    return f"{notice}; this agent did not approve it{why}."


def _before_its_time(account: EventSummary) -> str:
    if account.not_before is None or account.started_at is None:
        return "before its time"
    early = (account.not_before - account.started_at).total_seconds()
    return f"{span(early)} before its time"


# --- end -----------------------------------------------------------------------


def _end(account: EventSummary) -> Iterator[str]:
    if account.is_canceled:
        yield f"It was called off{_since(account)}."
    elif account.gone_at is None and account.started_at is None:
        yield "It has not started, as far as this record goes."
    elif account.gone_at is None:
        yield "It is under way, as far as this record goes."
    elif account.started_at is not None:
        lasted = (account.gone_at - account.started_at).total_seconds()
        yield f"It was under way for {span(lasted)}."
    else:
        yield "It took place, and was not seen to start."


def _since(account: EventSummary) -> str:
    if account.first_at is None or account.gone_at is None:
        return ""
    seconds = (account.gone_at - account.first_at).total_seconds()
    return f" {span(seconds)} after first sight"


# --- hooks ---------------------------------------------------------------------


def _hooks(account: EventSummary) -> Iterator[str]:
    ran = account.ran or {}
    for failed in account.failed:
        yield _failure(failed)
    if len(ran) == 1 and not account.failed:
        yield "Its hook succeeded."
    elif ran and not account.failed:
        yield f"All of its {len(ran)} hooks succeeded."


def _failure(ran: HookSummary) -> str:
    why = f": {ran.reason}" if ran.reason else ""
    ended = ENDED.get(ran.outcome, ran.outcome)
    return f"Hook {ran.hook} ({ran.step}) {ended}{why}."


# --- impact --------------------------------------------------------------------


def _impact(account: EventSummary) -> Iterator[str]:
    if account.impact is None or account.is_canceled or not account.is_mine:
        return
    felt = _felt(account.impact)
    if account.announced is None:
        yield f"{felt}; how long it would take was not announced."
    else:
        yield f"{felt}; {span(account.announced)} were announced{_more(account)}."


def _felt(impact: Impact) -> str:
    if impact.boots:
        often = times(impact.boots)
        return f"This VM was restarted {often}, and was down for {span(impact.total)}"
    if impact.seconds:
        longest = span(impact.seconds)
        return f"This VM stood still for {_in_all(impact, longest)}"
    return "This VM was not seen to stand still"


def _in_all(impact: Impact, longest: str) -> str:
    in_all = span(impact.total)
    return longest if in_all == longest else f"{longest} at most, {in_all} in all"


def _more(account: EventSummary) -> str:
    if account.impact is None or account.announced is None:
        return ""
    more = account.impact.total - account.announced
    return f": it took {span(more)} longer" if more >= 1 else ""
