"""History of a maintenance, as sentences in chronological order."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.model import Event, Maintenance, Via
from forewarn.core.outages import Outage, time_lost
from forewarn.core.queries.phrases import (
    describe,
    format_duration,
    format_time,
)
from forewarn.formats import join_names

_WAYS: Mapping[Via, str] = {
    Via.METADATA: "at the metadata endpoint",
    Via.CONTROL: "by the control API",
    Via.ARM: "by Azure's Resource Manager API",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryLine:
    """One thing that happened."""

    at: datetime
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """The history of a maintenance, with the notice that it gave."""

    lines: tuple[StoryLine, ...]
    given: timedelta  # from the announcement to NotBefore
    used: timedelta | None  # until the start; None if it has not started
    sentences: tuple[str, ...]


def story_of(
    maintenance: Maintenance,
    facts: Iterable[f.Fact],
    sights: Iterable[f.Sight],
    outages: Iterable[Outage],
    *,
    is_share: bool = False,
) -> Story:
    """Describe the history of `maintenance` from its `facts` and `sights`.

    If it is redacted for a group (`is_share`), other groups' approvals are not
    mentioned.
    """
    away = [outage for outage in outages if _is_in_notice(maintenance, outage)]
    sentences = {**_SENTENCES, **(_OF_SHARES if is_share else {})}
    lines = [
        *_lines(maintenance, facts, sights, sentences),
        *(StoryLine(at=outage.until, what=_was_away(outage)) for outage in away),
    ]
    started = maintenance.started_at
    return Story(
        lines=tuple(sorted(lines, key=lambda line: line.at)),  # ties keep this order
        given=maintenance.not_before - maintenance.announced_at,
        used=None if started is None else started - maintenance.announced_at,
        sentences=tuple(_closing(maintenance, away)),
    )


def _is_in_notice(maintenance: Maintenance, outage: Outage) -> bool:
    end = maintenance.started_at or maintenance.ended_at or outage.until
    return outage.until > maintenance.announced_at and outage.since < end


def _was_away(outage: Outage) -> str:
    return f"the service is back; it was away since {format_time(outage.since)}"


# --- facts -------------------------------------------------------------------


def _lines(
    maintenance: Maintenance,
    facts: Iterable[f.Fact],
    sights: Iterable[f.Sight],
    sentences: "Mapping[type[f.Fact], _Writer]",
) -> Iterator[StoryLine]:
    """Yield facts, then sights; an approver's own sight precedes its approval."""
    rest = [*sights]
    for fact in facts:
        if isinstance(fact, f.Approved):
            first = [
                sight for sight in rest if (sight.vm, sight.at) == (fact.by, fact.at)
            ]
            yield from _seen(maintenance, first)
            rest = [sight for sight in rest if sight not in first]
        write = sentences.get(type(fact))
        if write is not None:
            yield StoryLine(at=fact.at, what=write(maintenance, fact))
    yield from _seen(maintenance, rest)


def _announced(maintenance: Maintenance, fact: f.Announced) -> str:
    when = (
        "at once"
        if maintenance.at_once
        else f"not before {format_time(maintenance.not_before)}"
    )
    parts = [
        f"announced by {fact.by}: {describe(maintenance)}, {when}"
        f" ({maintenance.source}, {maintenance.cause})"
    ]
    if maintenance.emergency:
        parts.append("an emergency")
    if maintenance.reason:
        parts.append(f"reason: {maintenance.reason}")
    silent = [event.group for event in maintenance.events if event.silent]
    if silent:
        groups = join_names([*dict.fromkeys(silent)])
        parts.append(f"silent, not having asked for events in 24 h: {groups}")
    return "; ".join(parts)


def _approved(maintenance: Maintenance, fact: f.Approved) -> str:
    del maintenance
    if fact.via is Via.POLICY:
        return f"approved beforehand, by the settings of group {fact.group}"
    return f"approved for group {fact.group} by {fact.by}, {_WAYS[fact.via]}"


def _started_for_all(maintenance: Maintenance, fact: f.Started) -> str:
    if maintenance.at_once and fact.at == maintenance.announced_at:
        return "started, without notice"
    return f"started after {format_duration(fact.at - maintenance.announced_at)}"


def _started(maintenance: Maintenance, fact: f.Started) -> str:
    begin = _started_for_all(maintenance, fact)
    if maintenance.at_once and fact.at == maintenance.announced_at:
        return begin
    missing = [
        event.group
        for event in maintenance.live_events
        if event.approved_at is None or event.approved_at > fact.at
    ]
    if not missing:
        return f"{begin}, everybody having approved"
    groups = join_names([*dict.fromkeys(missing)])
    return f"{begin}, without the approval of {groups}"


def _failed(maintenance: Maintenance, fact: f.WorkFailed) -> str:
    del maintenance
    return f"the driver failed on {join_names(fact.vms)}{_detail(fact.detail)}; stuck"


def _done(maintenance: Maintenance, fact: f.WorkDone) -> str:
    del maintenance
    return f"done: {join_names(fact.vms)}{_detail(fact.detail)}"


def _printed(maintenance: Maintenance, fact: f.WorkPrinted) -> str:
    del maintenance
    lines = [line for line in fact.output.splitlines() if line.strip()]
    last = _shortened(lines[-1].strip()) if lines else ""
    if len(lines) < 2:
        return f"the driver left a line to read: {last}"
    return f"the driver left {len(lines)} lines to read; the last: {last}"


def _detail(text: str) -> str:
    words = " ".join(text.split())
    return f" ({_shortened(words)})" if words else ""


def _shortened(text: str, limit: int = 200) -> str:
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def _retried(maintenance: Maintenance, fact: f.WorkRetried) -> str:
    del maintenance
    return f"to be tried again, {_whose(fact.by, 'by itself')}"


def _canceled(maintenance: Maintenance, fact: f.Canceled) -> str:
    del maintenance
    return f"canceled, {_whose(fact.by, 'by itself')}{_detail(fact.reason or '')}"


def _whose(by: str | None, nobody: str) -> str:
    return nobody if by is None else f"by {by}"


_Writer = Callable[[Maintenance, Any], str]  # Any: each takes one kind of fact

_SENTENCES: Mapping[type[f.Fact], _Writer] = {
    f.Announced: _announced,
    f.Approved: _approved,
    f.VmsLeft: lambda _, fact: (
        f"left, and not touched any more: {join_names(fact.vms)}"
    ),
    f.Withdrawn: lambda _, fact: (
        f"withdrawn for group {fact.group}: all its VMs have left"
    ),
    f.Started: _started,
    f.WorkBegan: lambda _, fact: f"the driver is called, attempt {fact.attempt}",
    f.WorkDone: _done,
    f.WorkFailed: _failed,
    f.WorkPrinted: _printed,
    f.WorkRetried: _retried,
    f.WorkEnded: lambda _, fact: (
        f"said to be done, by {fact.by}{_detail(fact.reason or '')}"
    ),
    f.Completed: lambda *_: "completed; its events are gone",
    f.Canceled: _canceled,
    f.Closed: lambda _, fact: (
        f"given up, {_whose(fact.by, 'by itself')}{_detail(fact.reason or '')}"
    ),
}

#: Replacements for a maintenance redacted for one group.
_OF_SHARES: Mapping[type[f.Fact], _Writer] = {f.Started: _started_for_all}


# --- sights and notice -------------------------------------------------------


def _seen(maintenance: Maintenance, sights: Iterable[f.Sight]) -> Iterator[StoryLine]:
    groups = {event.id: event.group for event in maintenance.events}
    for sight in sights:
        group = groups.get(sight.event, "")
        yield StoryLine(at=sight.at, what=f"seen by {sight.vm} of group {group}")


def _closing(maintenance: Maintenance, away: Sequence[Outage]) -> Iterator[str]:
    announced, started = maintenance.announced_at, maintenance.started_at
    notice = maintenance.not_before - announced
    if maintenance.at_once:
        yield "It was announced without notice."
    elif started is None:
        yield f"Notice given: {format_duration(notice)}."
    else:
        used = started - announced
        yield f"Notice given: {format_duration(notice)}; used: {format_duration(used)}."
    end = started or maintenance.ended_at
    gone = time_lost(away, announced, end) if end is not None else timedelta(0)
    if gone:
        away_for = format_duration(gone)
        yield f"The service was away for {away_for} of that, which is not counted."
    silent = [event for event in maintenance.events if _is_unapproved(event)]
    if started is not None and not maintenance.at_once and silent:
        yield f"Never approved by {join_names([event.group for event in silent])}."


def _is_unapproved(event: Event) -> bool:
    return event.approved_at is None and event.withdrawn_at is None
