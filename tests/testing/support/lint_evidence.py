"""Builders for lint evidence; every argument is optional."""

from collections.abc import Iterable, Mapping, Sequence

from tests.testing.support.request_records import a_request_record

from forewarn.server.metadata.faults.observer import RequestRecord
from forewarn.testing.lint.evidence import (
    AnnouncedEvent,
    CoursePart,
    CourseSpan,
    Evidence,
    ProgramExit,
    ShownDocument,
)
from forewarn.testing.lint.findings import Finding
from forewarn.testing.lint.runner import apply_rules

LENGTH = 4.0  # seconds of each part
SPANS = tuple(
    CourseSpan(part=part, began=number * LENGTH, ended=(number + 1) * LENGTH)
    for number, part in enumerate(CoursePart)
)
END = SPANS[-1].ended

FREEZE, THEIRS, MINE, USERS = "F0", "R1", "R0", "U0"
ANNOUNCED = (
    AnnouncedEvent(id=FREEZE, type="Freeze", source="Platform", resources=("vm-0",)),
    AnnouncedEvent(id=THEIRS, type="Reboot", source="Platform", resources=("vm-1",)),
    AnnouncedEvent(id=MINE, type="Reboot", source="Platform", resources=("vm-0",)),
    AnnouncedEvent(id=USERS, type="Reboot", source="User", resources=("vm-0",)),
)
SHOWN = (
    ShownDocument(at=4.5, incarnation=1, scheduled=frozenset({THEIRS})),
    ShownDocument(at=8.5, incarnation=2, scheduled=frozenset({FREEZE, THEIRS})),
    ShownDocument(at=16.5, incarnation=4, scheduled=frozenset({THEIRS, MINE, USERS})),
)


def middle(part: CoursePart) -> float:
    return next(span.began for span in SPANS if span.part is part) + LENGTH / 2


def approved(at: float, *events: str, status: int = 200) -> RequestRecord:
    return a_request_record(at, method="POST", events=events, status=status)


def polls(every: float = 1.0, *, until: float = END) -> Sequence[RequestRecord]:
    """Make the requests of a good program, which polls less often after a 429."""
    requests: list[RequestRecord] = []
    at = 0.5
    while at < until:
        status, fault = _fault(at)
        requests.append(a_request_record(at, status=status, fault=fault))
        at += max(every, 2.0) if status == 429 else every
    return requests


def _fault(at: float) -> tuple[int, str | None]:
    part = next(span.part for span in SPANS if span.has(at))
    faults: Mapping[CoursePart, tuple[int, str]] = {
        CoursePart.TOO_MANY: (429, "429"),
        CoursePart.ERRORS: (503, "503"),
    }
    return faults.get(part, (200, None))


def an_evidence(
    *,
    requests: Iterable[RequestRecord] | None = None,
    more: Iterable[RequestRecord] = (),
    ending: ProgramExit | None = None,
    until: float = END,
    shown: Sequence[ShownDocument] = SHOWN,
    spans: Sequence[CourseSpan] = SPANS,
    forwarded: int = 0,
    is_cut_short: bool = False,
) -> Evidence:
    """Make evidence of a program without faults, except for the given changes."""
    return Evidence(
        vm="vm-0",
        began=0.0,
        until=until,
        requests=[*(polls() if requests is None else requests), *more],
        forwarded=forwarded,
        shown=shown,
        announced=ANNOUNCED,
        spans=spans,
        ending=ending,
        is_cut_short=is_cut_short,
    )


def findings_by_rule(evidence: Evidence) -> Mapping[str, Finding]:
    return {finding.rule.id: finding for finding in apply_rules(evidence)}


def severities_by_rule(evidence: Evidence) -> dict[str, str]:
    """Return the severity of each rule that found something."""
    return {
        finding.rule.id: finding.severity.value
        for finding in apply_rules(evidence)
        if finding.is_found
    }
