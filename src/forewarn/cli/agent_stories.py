"""Output of `forewarn agent report`: a table of events, a page per event, JSON."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import datetime

from forewarn.agent.accounts import Account
from forewarn.agent.remarks import span
from forewarn.agent.sighting import key
from forewarn.agent.story import Entry, Story
from forewarn.agent.written import rfc3339
from forewarn.cli.tables import clean, fields, moment, paragraph, some, table, unbroken

_SHORTEST = 8  # characters of a shortened id
_TIME = len("  12:15:00  ")


# --- all events ----------------------------------------------------------------


def summary(listed: Sequence[Account]) -> str:
    """Lay out a table with one row per event."""
    header = ("EVENT", "TYPE", "FIRST SEEN", "NOTICE", "USED", "HOOKS", "OUTCOME")
    short = _shortened([account.id for account in listed])
    return table(header, [(short[account.id], *_row(account)) for account in listed])


def _shortened(ids: Sequence[str]) -> Mapping[str, str]:
    """Shorten ids as far as they stay distinct."""
    longest = max(map(len, ids))
    for length in range(_SHORTEST, longest + 1):
        if len({key(id_)[:length] for id_ in ids}) == len(ids):
            return {id_: id_[:length] for id_ in ids}
    return {id_: id_ for id_ in ids}


def _row(account: Account) -> Iterator[str]:
    yield account.type
    yield unbroken(moment(account.first_at) or "")
    yield _span(account.notice)
    yield _span(account.used)
    ran = len(account.ran or ())
    yield unbroken(f"{ran - len(account.failed)} of {ran}") if ran else ""
    yield ", ".join(_outcome(account))


def _span(seconds: float | None) -> str:
    return "" if seconds is None else unbroken(span(seconds))


def _outcome(account: Account) -> Iterator[str]:
    if account.approved_at is not None:
        yield "approved"
    elif account.approved_elsewhere:
        yield "approved by others"
    yield _end(account)
    felt = account.impact
    if felt is not None and felt.boots:
        yield f"restarted, down {_span(felt.total)}"
    elif felt is not None and felt.total:
        yield f"still for {_span(felt.total)}"


def _end(account: Account) -> str:
    if account.is_canceled:
        return "called off"
    if account.gone_at is not None:
        return "took place"
    return "not started yet" if account.started_at is None else "under way"


# --- one event -----------------------------------------------------------------


def page(story: Story) -> str:
    """Lay out the story of one event as text."""
    return "\n\n".join(_parts(story))


def _parts(story: Story) -> Iterator[str]:
    account = story.account
    yield clean(f"{account.type} of {some(account.resources) or 'nobody'}")
    yield fields(_facts(account))
    yield "\n".join(_lines(story.entries))
    yield "\n".join(paragraph(sentence, 2) for sentence in story.verdict)


def _facts(account: Account) -> Iterator[tuple[str, str | None]]:
    announced = account.announced
    yield "event", account.id
    yield "source", account.source
    yield "description", account.description
    yield "not before", moment(account.not_before)
    yield "duration", "unknown" if announced is None else span(announced)


def _lines(entries: Iterable[Entry]) -> Iterator[str]:
    day = None
    for entry in entries:
        at = moment(entry.at) or "? ?"
        date, _, time = at.removesuffix("Z").partition(" ")
        if date != day:
            day = date
            yield f"story of {date}, in UTC"
        after = f" ({unbroken('+' + span(entry.after))})" if entry.after else ""
        yield paragraph(f"  {time:8}  {entry.said}{after}", _TIME)
        yield from (f"{'':{_TIME}}| {clean(line)}" for line in entry.output)


# --- JSON output -------------------------------------------------------------


def plain_story(story: Story) -> Mapping[str, object]:
    """Convert the story of an event to JSON values."""
    return {
        **plain_account(story.account),
        "verdict": [*story.verdict],
        "story": [
            {"at": _text(entry.at), "after_seconds": entry.after, "said": entry.said}
            for entry in story.entries
        ],
    }


def plain_account(account: Account) -> Mapping[str, object]:
    """Convert the summary of an event to JSON values."""
    felt = account.impact
    return {
        "id": account.id,
        "type": account.type,
        "source": account.source,
        "resources": [*account.resources],
        "description": account.description,
        "not_before": _text(account.not_before),
        "first_seen_at": _text(account.first_at),
        "mine": account.is_mine,
        "rule": account.rule,
        "notice_seconds_given": account.notice,
        "notice_seconds_used": account.used,
        "approved_at": _text(account.approved_at),
        "approved_elsewhere": account.approved_elsewhere,
        "not_approved": account.not_approved,
        "started_at": _text(account.started_at),
        "gone_at": _text(account.gone_at),
        "canceled": account.is_canceled,
        "announced_seconds": account.announced,
        "impact": None if felt is None else asdict(felt),
        "hooks": [asdict(run) for run in (account.ran or {}).values()],
        "outcome": account.outcome,
    }


def _text(time: datetime | None) -> str | None:
    return None if time is None else rfc3339(time)
