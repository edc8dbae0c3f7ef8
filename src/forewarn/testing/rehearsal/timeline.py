"""The timeline of a rehearsal, short enough for a terminal.

Lines are in chronological order. Each line starts with the time elapsed on the
service's clock and the seconds of real time since the first line.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.facts import JournalEntry
from forewarn.core.lifecycle.model import Maintenance, Via
from forewarn.core.queries.phrases import (
    SHORT,
    fact_text,
    format_offset,
    short_name,
)
from forewarn.engine.engine import Engine
from forewarn.formats import format_times, join_names
from forewarn.server.metadata.faults.observer import RequestRecord
from forewarn.testing.rehearsal.observer import Mark, RehearsalObserver
from forewarn.testing.rehearsal.program import Program

#: The first line of a timeline.
TITLE = "timeline (service's clock, real time):"

_WIDTH = 80
#: Facts about maintenance that the timeline omits because they show driver progress.
HIDDEN = f.WorkBegan | f.WorkDone | f.WorkPrinted

_MAX_LINES = 24  # lines below the title
_FIRST_LINES = 7  # lines kept at the top of a shortened timeline
_DOCUMENT = "/metadata/scheduledevents"
_UNKNOWN = "unknown VM"
_HELD = "no response yet"
_PAGE = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineData:
    """The input of a timeline. `at` is monotonic; `time` is on the service's clock."""

    entries: Sequence[tuple[float, f.JournalEntry]]  # the journal, with commit times
    requests: Sequence[tuple[datetime, RequestRecord]] = ()
    unanswered: Sequence[tuple[str | None, float]] = ()  # VM and arrival time of each
    marks: Sequence[tuple[datetime, Mark]] = ()
    programs: Sequence[tuple[datetime, float, str]] = ()  # their starts and ends
    at: float  # now
    time: datetime  # now


@dataclass(frozen=True, slots=True, kw_only=True)
class _Moment:
    at: float
    time: datetime
    what: str | RequestRecord  # requests are grouped later


def timeline_of(
    engine: Engine, observer: RehearsalObserver, programs: Sequence[Program] = ()
) -> str:
    """Format what has happened so far as a timeline."""
    now = engine.clock.now()
    at = observer.now()
    moments = [moment for program in programs for moment in _moments_of(program)]
    return timeline(
        TimelineData(
            entries=[
                (observer.committed_at(item.position), item)
                for item in journal_of(engine)
            ],
            requests=[
                (observer.time_at(item.at) or now, item) for item in observer.requests
            ],
            unanswered=observer.unanswered,
            marks=[(observer.time_at(item.at) or now, item) for item in observer.marks],
            programs=[
                (observer.time_at(moment) or now, moment, what)
                for moment, what in moments
            ],
            at=at,
            time=now,
        )
    )


def _moments_of(program: Program) -> Iterator[tuple[float, str]]:
    """Yield when and how a program started and ended."""
    if program.began:
        yield program.began, f"{program.name} started"
    if program.ended is not None:
        yield program.ended, f"{program.name} {program.state}"


def journal_of(engine: Engine) -> Sequence[JournalEntry]:
    """Return all journal entries so far."""
    engine.save_observations()
    entries: list[JournalEntry] = []
    while page := engine.store.facts(entries[-1].position if entries else 0, _PAGE):
        entries += page
    return entries


def timeline(data: TimelineData) -> str:
    """Format `data` as a timeline."""
    began = data.entries[0][1].fact.at if data.entries else data.time
    moments = sorted(_moments(data, began), key=_order)
    first = moments[0].at if moments else data.at
    lines = [
        (format_offset(moment.time - began), moment.at - first, what)
        for moment, what in _merged(moments)
    ]
    now = format_offset(data.time - began)
    for vm, at in dict(data.unanswered).items():
        lines.append((now, at - first, f"{vm or _UNKNOWN} sent a request, {_HELD}"))
    lines.append((now, data.at - first, "now"))
    width = max(len(offset) for offset, _, _ in lines)
    real = max(len(f"{seconds:.2f}") for _, seconds, _ in lines)
    shown = [
        _cut(f"  {offset:<{width}}  {seconds:{real}.2f} s  {what}")
        for offset, seconds, what in lines
    ]
    return "\n".join([TITLE, *_shortened(shown)])


def _cut(line: str) -> str:
    """Shorten text to a single line, because marks and reasons can be any text."""
    line = "".join(character if character.isprintable() else " " for character in line)
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 3]}..."


def _shortened(lines: Sequence[str]) -> Sequence[str]:
    left_out = len(lines) - _MAX_LINES + 1
    if left_out <= 1:
        return lines
    note = f"  ... {left_out} lines omitted ..."
    return [*lines[:_FIRST_LINES], note, *lines[_FIRST_LINES + left_out :]]


# --- order of events ---------------------------------------------------------


def _order(moment: _Moment) -> tuple[float, bool]:
    return moment.at, isinstance(moment.what, str)  # requests come before their effects


def _moments(data: TimelineData, began: datetime) -> Iterator[_Moment]:
    announced = {
        entry.fact.maintenance: entry.fact.announced
        for _, entry in data.entries
        if isinstance(entry.fact, f.Announced)
    }
    announcements = {
        event.id: (at, announced[entry.fact.maintenance])
        for at, entry in data.entries
        if isinstance(entry.fact, f.Announced)
        for event in entry.fact.announced.events
    }
    for at, entry in data.entries:
        fact = entry.fact
        if isinstance(fact, f.Seen):
            yield from _sightings(fact, data, announcements, at)
        elif what := _describe_fact(fact, announced, began):
            yield _Moment(at=at, time=fact.at, what=what)
    for time, mark in data.marks:
        yield _Moment(at=mark.at, time=time, what=f"mark: {mark.name}")
    for time, at, what in data.programs:
        yield _Moment(at=at, time=time, what=what)
    approved = _approvals(data)
    for time, request in data.requests:
        if request.status != 200 or not _is_in_journal(request, approved):
            yield _Moment(at=request.at, time=time, what=request)


def _describe_fact(
    fact: f.Fact, maintenances: Mapping[str, Maintenance], began: datetime
) -> str | None:
    """Describe a fact about one of `maintenances`, or return None to omit the fact."""
    if isinstance(fact, f.Announced):
        return _describe_announcement(fact.announced, began)
    if isinstance(fact, f.OutageEnded):
        return fact_text(fact)
    if isinstance(fact, f.Approved) and fact.via is not Via.POLICY:
        approved = short_name(maintenances[fact.maintenance], fact.event)
        return f"{fact.by} approved {approved}"
    if isinstance(fact, f.MaintenanceFact) and not isinstance(fact, HIDDEN):
        return f"{short_name(maintenances[fact.maintenance])} {fact_text(fact)}"
    return None


def _describe_announcement(maintenance: Maintenance, began: datetime) -> str:
    when = (
        "starting immediately"
        if maintenance.at_once
        else f"not before {format_offset(maintenance.not_before - began)}"
    )
    events = join_names([event.id[:SHORT] for event in maintenance.events])
    vms = join_names(maintenance.vms)
    return f"announced {maintenance.type} {events} of {vms}, {when}"


def _approvals(data: TimelineData) -> frozenset[tuple[str, str | None]]:
    facts = [entry.fact for _, entry in data.entries]
    return frozenset(
        (fact.event, fact.by) for fact in facts if isinstance(fact, f.Approved)
    )


def _is_in_journal(
    request: RequestRecord, approved: frozenset[tuple[str, str | None]]
) -> bool:
    """Return whether the journal already shows the effect of a request."""
    pairs = {(event_id.upper(), request.vm) for event_id in request.events}
    return bool(pairs) and pairs <= approved


def _sightings(
    fact: f.Seen,
    data: TimelineData,
    announcements: Mapping[str, tuple[float, Maintenance]],
    committed: float,
) -> Iterator[_Moment]:
    """Yield which VM saw which event, at the time of the request.

    The journal records sightings later.
    """
    for sight in fact.sights:
        if sight.event not in announcements:
            continue
        since, maintenance = announcements[sight.event]
        times = (
            request.at
            for _, request in data.requests
            if request.vm == sight.vm and request.at >= since and request.status == 200
        )
        what = f"{sight.vm} saw {short_name(maintenance, sight.event)}"
        yield _Moment(at=next(times, committed), time=sight.at, what=what)


# --- requests ----------------------------------------------------------------


def _merged(moments: Sequence[_Moment]) -> Iterator[tuple[_Moment, str]]:
    """Group consecutive requests; yield the first moment of each group."""
    for is_text, run in groupby(moments, lambda moment: isinstance(moment.what, str)):
        if is_text:
            yield from ((moment, str(moment.what)) for moment in run)
            continue
        alike: dict[tuple[datetime, str], list[_Moment]] = {}
        for moment in run:
            if isinstance(moment.what, RequestRecord):
                alike.setdefault(
                    (moment.time, _describe_request(moment.what)), []
                ).append(moment)
        for (_, what), same in alike.items():
            yield same[0], what.replace("{}", _how_often(same), 1)


def _describe_request(request: RequestRecord) -> str:
    """Describe a request; `{}` is a placeholder for the number of repetitions."""
    who = request.vm or _UNKNOWN
    if request.events:
        ids = join_names([event_id[:SHORT] for event_id in request.events])
        what = f"{who} tried to approve {ids}{{}}"
    elif request.path.endswith(_DOCUMENT):
        what = f"{who} polled{{}}"
    else:
        what = f"{who} sent {request.method} {request.path}{{}}"
    parts = [what, *_details(request)]
    return ", ".join(parts)


def _details(request: RequestRecord) -> Iterator[str]:
    """Yield details, the most important first, because long lines are truncated."""
    if request.status not in (200, 304):
        yield f"status {request.status}" if request.status else "cut off"
    if request.fault is not None:
        yield f"fault {request.fault}"
    if not request.is_marked:
        yield "without Metadata: true"
    yield f"api-version {request.version}" if request.version else "no api-version"


def _how_often(same: Sequence[_Moment]) -> str:
    if len(same) == 1:
        return ""
    return f" {format_times(len(same))} in {same[-1].at - same[0].at:.1f} s"
