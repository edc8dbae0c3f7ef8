"""History of a maintenance operation, as sentences in chronological order."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.model import Cause, Event, Maintenance
from forewarn.core.outages import Outage, time_lost
from forewarn.core.queries.explanation import WaitReason
from forewarn.core.queries.phrases import fact_text, format_time, start_text
from forewarn.formats import format_duration, join_names


@dataclass(frozen=True, slots=True, kw_only=True)
class StoryLine:
    """Something that happened."""

    at: datetime
    what: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Story:
    """The history of a maintenance operation with the notice given and used."""

    notice_given_seconds: int  # from the announcement to NotBefore
    notice_used_seconds: int | None  # until the start; None if it has not started
    entries: tuple[StoryLine, ...]
    sentences: tuple[str, ...]


def story_of(
    maintenance: Maintenance,
    facts: Iterable[f.Fact],
    sights: Iterable[f.Sight],
    outages: Iterable[Outage],
    *,
    waits: Iterable[WaitReason] = (),
    is_share: bool = False,
) -> Story:
    """Describe the history of `maintenance` from its `facts` and `sights`.

    `waits` contains its current waits. If `maintenance` is redacted for a group
    (`is_share`), approvals from other groups are not mentioned.
    """
    away = [outage for outage in outages if _is_in_notice(maintenance, outage)]
    lines = [
        *_lines(maintenance, facts, sights, is_share=is_share),
        *(
            StoryLine(
                at=outage.until,
                what=fact_text(f.OutageEnded(at=outage.until, outage=outage)),
            )
            for outage in away
        ),
    ]
    announced, started = maintenance.announced_at, maintenance.started_at
    given = maintenance.not_before - announced
    used = None if started is None else started - announced
    return Story(
        notice_given_seconds=int(given.total_seconds()),
        notice_used_seconds=None if used is None else int(used.total_seconds()),
        entries=tuple(sorted(lines, key=lambda line: line.at)),  # ties keep this order
        sentences=(*_closing(maintenance, away), *_holds(waits)),
    )


def _is_in_notice(maintenance: Maintenance, outage: Outage) -> bool:
    end = maintenance.started_at or maintenance.ended_at or outage.until
    return outage.until > maintenance.announced_at and outage.since < end


# --- facts -------------------------------------------------------------------


def _lines(
    maintenance: Maintenance,
    facts: Iterable[f.Fact],
    sights: Iterable[f.Sight],
    *,
    is_share: bool,
) -> Iterator[StoryLine]:
    """Yield the lines for facts, then those for sights.

    If a VM approved an event in the same moment that it first saw the event, its sight
    precedes the approval.
    """
    rest = [*sights]
    for fact in facts:
        if isinstance(fact, f.Approved):
            first = [
                sight for sight in rest if (sight.vm, sight.at) == (fact.by, fact.at)
            ]
            yield from _seen(maintenance, first)
            rest = [sight for sight in rest if sight not in first]
        what = fact_text(fact)
        if isinstance(fact, f.Started):
            what = start_text(maintenance, fact.at, is_share=is_share)
        yield StoryLine(at=fact.at, what=what)
    yield from _seen(maintenance, rest)


# --- sights and notice -------------------------------------------------------


def _seen(maintenance: Maintenance, sights: Iterable[f.Sight]) -> Iterator[StoryLine]:
    groups = {event.id: event.group for event in maintenance.events}
    for sight in sights:
        group = groups.get(sight.event, "")
        yield StoryLine(at=sight.at, what=f"seen by {sight.vm} (group {group})")


def _closing(maintenance: Maintenance, away: Sequence[Outage]) -> Iterator[str]:
    announced, started = maintenance.announced_at, maintenance.started_at
    notice = maintenance.not_before - announced
    if maintenance.at_once:
        yield "Announced without notice."
    elif started is None:
        yield f"Notice given: {format_duration(notice)}."
    else:
        given, used = format_duration(notice), format_duration(started - announced)
        yield f"Notice given: {given}; started after {used}."
    end = started or maintenance.ended_at
    gone = time_lost(away, announced, end) if end is not None else timedelta(0)
    if gone:
        yield (
            f"The service was down for {format_duration(gone)} of that time."
            " Downtime does not count as notice."
        )
    if maintenance.cause is Cause.DEGRADED and maintenance.left:
        left = join_names(maintenance.left)
        yield f"Left the degraded host before this redeploy: {left}."
    silent = [event for event in maintenance.events if _is_unapproved(event)]
    if started is not None and not maintenance.at_once and silent:
        groups = join_names([*dict.fromkeys(event.group for event in silent)])
        yield f"Never approved by {groups}."


def _holds(waits: Iterable[WaitReason]) -> Iterator[str]:
    for wait in waits:
        if wait.held_by is not None:
            end = wait.until
            until = "" if end is None else f" until {format_time(end)}"
            commands = " or ".join(
                f"`{remedy.command}`" for remedy in wait.unblocked_by
            )
            yield (
                f"Blocked by group {wait.held_by}{until}. To unblock it, run"
                f" {commands}."
            )


def _is_unapproved(event: Event) -> bool:
    return event.approved_at is None and event.withdrawn_at is None
