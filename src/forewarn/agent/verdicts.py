"""Assessment of a completed event: notice, approval, hooks and impact."""

from collections.abc import Iterator

from forewarn.agent.accounts import ENDED, Account, Ran
from forewarn.agent.lives import Impact
from forewarn.agent.remarks import span, times


def verdict(account: Account) -> tuple[str, ...]:
    """Assess an event in sentences."""
    return tuple(
        sentence
        for part in (_notice, _end, _hooks, _impact)
        for sentence in part(account)
    )


# --- notice and approval -------------------------------------------------------


def _notice(account: Account) -> Iterator[str]:
    if account.is_sudden:
        yield "It started without notice."
    elif account.approved_at is not None:
        yield _approved(account)
    elif account.approved_elsewhere:
        yield f"Somebody else approved it: it started {_before_its_time(account)}."
    else:
        yield _unapproved(account)


def _approved(account: Account) -> str:
    after = "" if account.used is None else f" {span(account.used)} after first sight"
    if account.left is None or account.notice is None:
        return f"This agent approved it{after}."
    of = f"of {span(account.notice)} of notice"
    return f"This agent approved it{after}: {span(account.left)} {of} were left unused."


def _unapproved(account: Account) -> str:
    why = f": {account.not_approved}" if account.not_approved else ""
    if account.notice is None:
        return f"This agent did not approve it{why}."
    notice = f"There were {span(account.notice)} of notice"
    return f"{notice}; this agent did not approve it{why}."


def _before_its_time(account: Account) -> str:
    if account.not_before is None or account.started_at is None:
        return "before its time"
    early = (account.not_before - account.started_at).total_seconds()
    return f"{span(early)} before its time"


# --- end -----------------------------------------------------------------------


def _end(account: Account) -> Iterator[str]:
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


def _since(account: Account) -> str:
    if account.first_at is None or account.gone_at is None:
        return ""
    seconds = (account.gone_at - account.first_at).total_seconds()
    return f" {span(seconds)} after first sight"


# --- hooks ---------------------------------------------------------------------


def _hooks(account: Account) -> Iterator[str]:
    ran = account.ran or {}
    for failed in account.failed:
        yield _failure(failed)
    if len(ran) == 1 and not account.failed:
        yield "Its hook succeeded."
    elif ran and not account.failed:
        yield f"All of its {len(ran)} hooks succeeded."


def _failure(ran: Ran) -> str:
    why = f": {ran.reason}" if ran.reason else ""
    ended = ENDED.get(ran.outcome, ran.outcome)
    return f"Hook {ran.hook} ({ran.step}) {ended}{why}."


# --- impact --------------------------------------------------------------------


def _impact(account: Account) -> Iterator[str]:
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


def _more(account: Account) -> str:
    if account.impact is None or account.announced is None:
        return ""
    more = account.impact.total - account.announced
    return f": it took {span(more)} longer" if more >= 1 else ""
