"""Summary of each event from the audit log, in numbers: the basis of reports."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime

from forewarn.agent.lives import Impact, Outcome
from forewarn.agent.remarks import Remark, utc
from forewarn.agent.sighting import key
from forewarn.protocol.codec import parse_date

#: Wording of a hook's outcome in a sentence.
ENDED: Mapping[str, str] = {
    Outcome.DONE: "succeeded",
    Outcome.FAILED: "failed",
    Outcome.CUT: "was cut",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """The result of one hook in one step."""

    step: str
    hook: str
    outcome: str
    seconds: float | None  # None if unknown
    reason: str | None

    @property
    def is_done(self) -> bool:
        """Whether it succeeded."""
        return self.outcome == Outcome.DONE


@dataclass(frozen=True, slots=True, kw_only=True)
class Account:
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
    ran: Mapping[tuple[str, str], Ran] | None = None  # by step and hook; None if none
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
    def failed(self) -> tuple[Ran, ...]:
        """The hooks that did not succeed."""
        return tuple(
            result for result in (self.ran or {}).values() if not result.is_done
        )


def accounts(remarks: Iterable[Remark]) -> Mapping[str, Account]:
    """Summarize the audit log; the keys are those of `key` for each event's id."""
    summaries: dict[str, Account] = {}
    for remark in remarks:
        if remark.event is not None:
            name = key(remark.event)
            summaries[name] = told(
                summaries.get(name) or Account(id=remark.event), remark
            )
    return summaries


def told(account: Account, remark: Remark) -> Account:
    """Add one more audit entry to a summary."""
    updated = replace(
        account,
        first_at=account.first_at or remark.at,
        last_at=remark.at or account.last_at,
    )
    take = _TAKE.get(remark.what)
    return updated if take is None else take(updated, remark)


def _came_back(account: Account, remark: Remark) -> Account:
    return Account(id=account.id, first_at=remark.at, last_at=remark.at)


def _seen(account: Account, remark: Remark) -> Account:
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


def _decided(account: Account, remark: Remark) -> Account:
    return replace(account, rule=remark.text("rule"))


def _hook_ended(account: Account, remark: Remark) -> Account:
    ran = Ran(
        step=remark.text("step") or "?",
        hook=remark.text("hook") or "?",
        outcome=remark.text("outcome") or "?",
        seconds=remark.number("seconds"),
        reason=remark.text("reason"),
    )
    return replace(account, ran={**(account.ran or {}), (ran.step, ran.hook): ran})


def _approved(account: Account, remark: Remark) -> Account:
    return replace(
        account,
        approved_at=remark.at,
        answer=remark.text("answer"),
        used=remark.number("notice_seconds_used"),
        not_approved=None,
    )


def _not_approved(account: Account, remark: Remark) -> Account:
    return replace(account, not_approved=remark.text("reason"))


def _started(account: Account, remark: Remark) -> Account:
    return replace(
        account,
        started_at=remark.at,
        is_sudden=remark.is_so("without_notice"),
        is_early=remark.is_so("early"),
        approved_elsewhere=remark.is_so("approved_elsewhere"),
    )


def _gone(account: Account, remark: Remark) -> Account:
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


def _over(account: Account, remark: Remark) -> Account:
    return replace(account, outcome=remark.text("outcome"))


_TAKE: Mapping[str, Callable[[Account, Remark], Account]] = {
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
