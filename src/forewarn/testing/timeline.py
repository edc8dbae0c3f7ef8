"""What happened in a rehearsal, as a timeline that fits a terminal.

Lines stand in the order in which things happened. What is before each is how far the
service's clock had come; where a line speaks of seconds, they are real ones.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from forewarn.core import facts as f
from forewarn.core.maintenance import Maintenance
from forewarn.core.sentences import few
from forewarn.server.witness import Asked
from forewarn.testing.watching import Mark
from forewarn.testing.words import SHORT, named, offset, told

#: What a timeline begins with.
TITLE = "scheduled events, by the service's clock:"

_WIDTH = 80
_MOST = 24  # lines below the title
_FIRST = 7  # of them, if there are more
_DOCUMENT = "/metadata/scheduledevents"
_UNKNOWN = "somebody unknown"
_HELD = "and is not answered yet"
_NOBODY = "nobody has asked: does the program ask at $FOREWARN_ENDPOINT?"


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """All that a timeline is made of; `at` is monotonic, `time` the service's."""

    entries: Sequence[tuple[float, f.Entry]]  # the journal, each with its commit
    requests: Sequence[tuple[datetime, Asked]] = ()
    unanswered: Sequence[tuple[str | None, float]] = ()  # who asked, when
    marks: Sequence[tuple[datetime, Mark]] = ()
    at: float  # now
    time: datetime  # now


@dataclass(frozen=True, slots=True, kw_only=True)
class _Moment:
    at: float
    time: datetime
    what: str | Asked  # requests are told together


def timeline(course: Course) -> str:
    """Tell `course`."""
    began = course.entries[0][1].fact.at if course.entries else course.time
    lines = [
        (offset(time - began), what)
        for time, what in _merged(sorted(_moments(course, began), key=_order), course)
    ]
    if not course.requests and not course.unanswered:
        lines.append(("", _NOBODY))
    for vm, at in dict(course.unanswered).items():
        lines.append(
            ("", f"{vm or _UNKNOWN} asked {course.at - at:.1f} s ago, {_HELD}")
        )
    lines.append((offset(course.time - began), "now"))
    width = max(len(each) for each, _ in lines)
    shown = [_cut(f"  {when:<{width}}  {what}") for when, what in lines]
    return "\n".join([TITLE, *_shortened(shown)])


def _cut(line: str) -> str:
    """Keep it to one line that fits: a mark, or a reason, may be any text."""
    line = "".join(each if each.isprintable() else " " for each in line)
    return line if len(line) <= _WIDTH else f"{line[: _WIDTH - 3]}..."


def _shortened(lines: Sequence[str]) -> Sequence[str]:
    left_out = len(lines) - _MOST + 1
    if left_out <= 1:
        return lines
    said = f"  ... {left_out} lines are left out ..."
    return [*lines[:_FIRST], said, *lines[_FIRST + left_out :]]


# --- in the order in which it happened ---------------------------------------


def _order(moment: _Moment) -> tuple[float, bool]:
    return moment.at, isinstance(moment.what, str)  # seen is what was asked for


def _moments(course: Course, began: datetime) -> Iterator[_Moment]:
    made = {
        entry.fact.maintenance: entry.fact.announced
        for _, entry in course.entries
        if isinstance(entry.fact, f.Announced)
    }
    begun = {
        event.id: (at, made[entry.fact.maintenance])
        for at, entry in course.entries
        if isinstance(entry.fact, f.Announced)
        for event in entry.fact.announced.events
    }
    for at, entry in course.entries:
        fact = entry.fact
        if isinstance(fact, f.Seen):
            yield from _sights(fact, course, begun, at)
        elif what := told(fact, made, began):
            yield _Moment(at=at, time=fact.at, what=what)
    for time, mark in course.marks:
        yield _Moment(at=mark.at, time=time, what=f"mark: {mark.name}")
    approved = _approvals(course)
    for time, asked in course.requests:
        if asked.status != 200 or not _is_told(asked, approved):
            yield _Moment(at=asked.at, time=time, what=asked)


def _approvals(course: Course) -> frozenset[tuple[str, str | None]]:
    facts = [entry.fact for _, entry in course.entries]
    return frozenset(
        (fact.event, fact.by) for fact in facts if isinstance(fact, f.Approved)
    )


def _is_told(asked: Asked, approved: frozenset[tuple[str, str | None]]) -> bool:
    """Whether the journal tells what came of a request."""
    pairs = {(each.upper(), asked.vm) for each in asked.events}
    return bool(pairs) and pairs <= approved


def _sights(
    fact: f.Seen,
    course: Course,
    begun: Mapping[str, tuple[float, Maintenance]],
    committed: float,
) -> Iterator[_Moment]:
    """Tell who saw what; the journal is told later, so look for the request."""
    for sight in fact.sights:
        if sight.event not in begun:
            continue
        since, maintenance = begun[sight.event]
        found = (
            asked.at
            for _, asked in course.requests
            if asked.vm == sight.vm and asked.at >= since and asked.status == 200
        )
        what = f"{sight.vm} saw {named(maintenance, sight.event)}"
        yield _Moment(at=next(found, committed), time=sight.at, what=what)


# --- requests ----------------------------------------------------------------


def _merged(
    moments: Sequence[_Moment], course: Course
) -> Iterator[tuple[datetime, str]]:
    """Tell requests that nothing came between together."""
    for is_said, run in groupby(moments, lambda each: isinstance(each.what, str)):
        if is_said:
            yield from ((each.time, str(each.what)) for each in run)
            continue
        alike: dict[tuple[datetime, str], list[_Moment]] = {}
        for each in run:
            if isinstance(each.what, Asked):
                alike.setdefault((each.time, _asked(each.what)), []).append(each)
        for (time, what), same in alike.items():
            yield time, what.replace("{}", _how_often(same, course.at), 1)


def _asked(asked: Asked) -> str:
    """Tell a request; {} is where it is said how often there were such."""
    who = asked.vm or _UNKNOWN
    if asked.events:
        wanted = few([each[:SHORT] for each in asked.events])
        what = f"{who} wanted to approve {wanted}{{}}"
    elif asked.path.endswith(_DOCUMENT):
        what = f"{who} asked{{}}"
    else:
        what = f"{who} sent {asked.method} {asked.path}{{}}"
    parts = [what, *_remarks(asked)]
    return ", ".join(parts)


def _remarks(asked: Asked) -> Iterator[str]:
    """Tell what matters most first: a long line is cut."""
    if asked.status not in (200, 304):
        yield f"answered {asked.status}" if asked.status else "cut off"
    if asked.fault is not None:
        yield f"fault {asked.fault}"
    if not asked.is_marked:
        yield "without Metadata: true"
    yield f"api-version {asked.version}" if asked.version else "no api-version"


def _how_often(same: Sequence[_Moment], now: float) -> str:
    last = same[-1].at
    ago = f"last {now - last:.1f} s ago"
    if len(same) == 1:
        return f", {now - last:.1f} s ago"
    return f" {len(same)} times in {last - same[0].at:.1f} s, {ago}"
