"""Lint rules: each finds its fault and passes good programs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as some
from tests.testing.support.lint_evidence import (
    END,
    FREEZE,
    MINE,
    SPANS,
    THEIRS,
    USERS,
    an_evidence,
    approved,
    findings_by_rule,
    middle,
    polls,
    severities_by_rule,
)
from tests.testing.support.request_records import a_request_record

from forewarn.server.metadata.faults.observer import RequestRecord
from forewarn.testing.lint.evidence import CoursePart, Evidence, ProgramExit
from forewarn.testing.lint.findings import RuleOutcome, Severity
from forewarn.testing.lint.runner import RULES, apply_rules, has_failed

APPROVES = (approved(8.6, FREEZE), approved(18.0, MINE, USERS))


def test_good_program_passes_every_rule() -> None:
    findings = findings_by_rule(an_evidence(more=APPROVES))
    assert {finding.outcome for finding in findings.values()} == {RuleOutcome.PASSED}
    assert not has_failed([*findings.values()], is_strict=True)


def without_header() -> Sequence[RequestRecord]:
    return [replace(poll, is_marked=False, status=400) for poll in polls()]


def in_version(version: str, status: int = 200) -> Sequence[RequestRecord]:
    return [replace(poll, version=version, status=status) for poll in polls()]


def polls_while_refused(every: float) -> Sequence[RequestRecord]:
    """Poll faster from the first 429 on."""
    began = middle(CoursePart.TOO_MANY) - 1
    more = [
        a_request_record(began + number * every, status=429, fault="429")
        for number in range(int(3 / every))
    ]
    return [*polls(until=began), *more, *polls()[-2:]]


def at_times(*moments: float) -> Sequence[RequestRecord]:
    """Poll at these times, and as usual once events are announced."""
    return [*map(a_request_record, moments), *polls()[4:]]


#: The evidence of each behavior, and all findings about it.
FOUND: Mapping[str, tuple[Evidence, Mapping[str, str]]] = {
    "sends no requests": (
        an_evidence(requests=(), shown=(), spans=SPANS[:1]),
        {"never-asks": "error"},
    ),
    "requests another path": (
        an_evidence(
            requests=[a_request_record(1, path="/scheduledevents", status=404)],
            shown=(),
            spans=SPANS[:1],
        ),
        {"never-asks": "error"},
    ),
    "sends no header": (
        an_evidence(requests=without_header(), shown=(), spans=SPANS[:1]),
        {"no-header": "error"},
    ),
    "sends no header with its approval": (
        an_evidence(
            more=[replace(approved(18.0, MINE, status=400), is_marked=False)],
        ),
        {
            "no-header": "error",
            "approves-in-vain": "error",
            "approves-nothing": "suggestion",
        },
    ),
    "sends no version": (
        an_evidence(requests=in_version("", 400), shown=(), spans=SPANS[:1]),
        {"no-api-version": "error"},
    ),
    "sends a version of another service": (
        an_evidence(requests=in_version("2021-02-01", 400), shown=(), spans=SPANS[:1]),
        {"no-api-version": "error"},
    ),
    "sends a version that hides Terminate": (
        an_evidence(requests=in_version("2017-11-01"), more=APPROVES),
        {"old-api-version": "warning"},
    ),
    "uses a proxy": (
        an_evidence(more=APPROVES, forwarded=3),
        {"through-a-proxy": "error"},
    ),
    "polls ten times per second": (
        an_evidence(requests=[*polls(0.1, until=4), *polls()[4:]], more=APPROVES),
        {"frequent-polls": "warning"},
    ),
    "sends many requests during 429": (
        an_evidence(requests=polls_while_refused(0.1), more=APPROVES),
        {"hammers": "error", "ignores-retry-after": "suggestion"},
    ),
    "polls faster during 429": (
        an_evidence(requests=polls_while_refused(0.3), more=APPROVES),
        {"hammers": "warning", "ignores-retry-after": "suggestion"},
    ),
    "polls twice in a row during 429": (
        an_evidence(
            requests=[
                *polls(until=32),
                *(a_request_record(at, status=429) for at in (33, 33.001)),
                *polls()[-2:],
            ],
            more=APPROVES,
        ),
        {"ignores-retry-after": "suggestion"},
    ),
    "polls at the usual rate during 429": (
        an_evidence(requests=polls_while_refused(1.0), more=APPROVES),
        {"ignores-retry-after": "suggestion"},
    ),
    "polls six times per second": (
        an_evidence(requests=at_times(1, 1.125, 1.25, 1.5, 1.75, 1.875)),
        {"frequent-polls": "warning", "approves-nothing": "suggestion"},
    ),
    "polls five times per second": (
        an_evidence(requests=at_times(1, 1.25, 1.5, 1.75, 1.875, 2)),
        {"approves-nothing": "suggestion"},
    ),
    "needs no header for its approval": (
        an_evidence(
            more=[replace(approved(18.0, MINE), is_marked=False, version="2017-03-01")]
        ),
        {},
    ),
    "uses an accepted version alias": (
        an_evidence(requests=in_version("latest"), more=APPROVES),
        {},
    ),
    "writes the path in mixed case": (
        an_evidence(
            requests=[replace(e, path="/METADATA/scheduledEvents/") for e in polls()],
            more=APPROVES,
        ),
        {},
    ),
    "polls faster during 429, but still slowly": (
        an_evidence(
            requests=[*polls(3.0, until=32), *polls_while_refused(1.0)[-5:]],
            more=APPROVES,
        ),
        {"ignores-retry-after": "suggestion"},
    ),
    "prepares for a long time": (
        an_evidence(requests=[*polls(until=9), *polls()[28:]], more=APPROVES),
        {},
    ),
    "repeats a failed approval": (
        an_evidence(more=[approved(17.0, MINE, status=503), approved(18.0, MINE)]),
        {},
    ),
    "approves an event of another VM, in lower case": (
        an_evidence(more=[*APPROVES, approved(5.0, THEIRS.lower())]),
        {"approves-others": "error"},
    ),
    "approves without polling": (
        an_evidence(requests=[approved(1, "X", status=400)], shown=(), spans=SPANS[:1]),
        {"never-asks": "error", "approves-in-vain": "error"},
    ),
    "approves an event of another VM": (
        an_evidence(more=[*APPROVES, approved(5.0, THEIRS)]),
        {"approves-others": "error"},
    ),
    "approves without preparation": (
        an_evidence(more=[approved(16.51, MINE)]),
        {"approves-unprepared": "warning"},
    ),
    "approves a user event immediately": (
        an_evidence(more=[approved(16.51, USERS)]),
        {},
    ),
    "approves on every poll": (
        an_evidence(more=[approved(18.0 + each / 10, MINE) for each in range(5)]),
        {"approves-twice": "suggestion"},
    ),
    "approves in lower case": (
        an_evidence(more=[approved(18.0, MINE.lower()), approved(18.5, MINE)]),
        {"approves-twice": "suggestion"},
    ),
    "sends rejected approvals": (
        an_evidence(more=[approved(18.0, status=400)]),
        {"approves-in-vain": "error", "approves-nothing": "suggestion"},
    ),
    "approves nothing": (an_evidence(), {"approves-nothing": "suggestion"}),
}


@pytest.mark.parametrize("behavior", FOUND)
def test_each_behavior_gets_exactly_its_findings(behavior: str) -> None:
    evidence, findings = FOUND[behavior]
    assert severities_by_rule(evidence) == findings


@pytest.mark.parametrize(
    ("every", "found"),
    [(1.0, None), (7.0, None), (8.0, "warning"), (14.0, "warning"), (16.0, "error")],
)
def test_rare_polls_may_miss_30_seconds_of_notice(
    every: float, found: str | None
) -> None:
    quiet = [replace(SPANS[0], ended=60.0)]
    evidence = an_evidence(
        requests=[a_request_record(at * every) for at in range(int(60 / every) + 1)],
        spans=quiet,
        shown=(),
        until=60,
    )
    assert severities_by_rule(evidence).get("rare-polls") == found


def test_single_poll_by_a_running_program_is_too_rare() -> None:
    quiet = [replace(SPANS[0], ended=16.5)]
    evidence = an_evidence(
        requests=[a_request_record(0.5)], spans=quiet, shown=(), until=16.5
    )
    finding = findings_by_rule(evidence)["rare-polls"]
    assert (finding.verdict, finding.saw) == (
        "error",
        "did not poll for 16 s",
    )


#: The rule on programs that end or stop polling after each part.
AFTER = {
    CoursePart.NEIGHBOR: ("after-neighbor", "error"),
    CoursePart.SCHEDULED: ("after-scheduled", "warning"),
    CoursePart.STARTED: ("after-started", "error"),
    CoursePart.REBOOT: ("after-reboot", "warning"),
    CoursePart.GONE: ("after-gone", "error"),
    CoursePart.OTHER_VERSION: ("after-other-version", "error"),
    CoursePart.RESTART: ("after-restart", "error"),
}


@pytest.mark.parametrize("part", AFTER)
@pytest.mark.parametrize("code", [0, 1, -9])
def test_exit_is_reported_with_the_part(part: CoursePart, code: int) -> None:
    at = middle(part)
    ending = ProgramExit(at=at + 0.2, code=code)
    evidence = an_evidence(requests=polls(until=at), ending=ending, until=at + 1)
    rule, severity = AFTER[part]
    findings = severities_by_rule(evidence)
    assert findings.pop(f"ends-{rule}") == severity
    assert [*findings] == ["approves-nothing"]
    saw = findings_by_rule(evidence)[f"ends-{rule}"].saw
    assert ("signal 9" if code < 0 else f"exit code {code}") in saw


@pytest.mark.parametrize("part", AFTER)
def test_program_that_stops_polling_is_reported_with_the_part(part: CoursePart) -> None:
    at = middle(part)
    evidence = an_evidence(requests=polls(until=at), until=at + 8.5)
    rule, severity = AFTER[part]
    findings = severities_by_rule(evidence)
    assert findings.pop(f"stops-{rule}") == severity
    assert [*findings] == ["approves-nothing"]


@pytest.mark.parametrize("part", AFTER)
def test_short_pause_is_not_reported(part: CoursePart) -> None:
    at = middle(part)
    evidence = an_evidence(requests=polls(until=at), until=at + 3)
    finding = findings_by_rule(evidence)[f"stops-{AFTER[part][0]}"]
    assert (finding.outcome, finding.saw[:8]) == (
        RuleOutcome.UNSEEN,
        "time ran",
    )


def test_late_exit_is_not_reported_as_missing_polls() -> None:
    at = middle(CoursePart.STARTED)
    ending = ProgramExit(at=at + 10, code=1)
    evidence = an_evidence(
        requests=polls(until=at), ending=ending, until=at + 10, more=APPROVES
    )
    assert severities_by_rule(evidence) == {"ends-after-started": "error"}


def test_response_at_the_start_of_a_part_belongs_to_it() -> None:
    began = SPANS[3].began
    evidence = an_evidence(
        requests=[*polls(until=11), a_request_record(began)],
        ending=ProgramExit(at=began, code=1),
        until=began,
        more=APPROVES,
    )
    assert severities_by_rule(evidence) == {"ends-after-started": "error"}


def test_slow_exit_is_not_reported_as_rare_polls() -> None:
    quiet = [replace(SPANS[0], ended=12.0)]
    evidence = an_evidence(
        requests=polls(until=2),
        ending=ProgramExit(at=12, code=0),
        spans=quiet,
        shown=(),
        until=12,
    )
    assert severities_by_rule(evidence) == {"ends-while-quiet": "error"}


def test_exit_while_nothing_is_announced_is_an_error() -> None:
    ending = ProgramExit(at=2.0, code=0)
    evidence = an_evidence(
        requests=polls(until=2), ending=ending, spans=SPANS[:1], shown=(), until=2
    )
    assert severities_by_rule(evidence) == {"ends-while-quiet": "error"}


@pytest.mark.parametrize("part", [CoursePart.TOO_MANY, CoursePart.ERRORS])
def test_program_that_exits_or_stops_polling_after_errors_gives_up(
    part: CoursePart,
) -> None:
    at = middle(part)
    ended = an_evidence(
        requests=polls(until=at),
        ending=ProgramExit(at=at, code=1),
        until=at,
        more=APPROVES,
    )
    silent = an_evidence(requests=polls(until=at), until=at + 20, more=APPROVES)
    short = an_evidence(requests=polls(until=at), until=at + 2, more=APPROVES)
    assert severities_by_rule(ended) == {"gives-up-on-errors": "error"}
    assert severities_by_rule(silent) == {"gives-up-on-errors": "error"}
    assert severities_by_rule(short) == {}


def test_rules_on_parts_that_were_not_played_are_unseen() -> None:
    evidence = an_evidence(requests=polls(until=3.9), spans=SPANS[:1], shown=())
    findings = findings_by_rule(evidence)
    hidden = [
        id_
        for id_, finding in findings.items()
        if finding.outcome is RuleOutcome.UNSEEN
    ]
    assert {id_ for id_ in findings if "-after-" in id_} < {*hidden}
    assert {id_ for id_ in findings if id_.startswith("approves-")} < {*hidden}


def test_approval_of_a_canceled_event_is_late_but_not_in_vain() -> None:
    late = middle(CoursePart.GONE)
    evidence = an_evidence(more=[approved(late, MINE, status=400)])
    findings = findings_by_rule(evidence)
    assert findings["approves-in-vain"].saw == (
        "sent its only approval after the event was canceled"
    )
    assert severities_by_rule(evidence) == {}
    others = an_evidence(more=[*APPROVES, approved(late, THEIRS, status=400)])
    assert severities_by_rule(others) == {"approves-others": "error"}


#: The observation of a rule in situations that differ only in numbers.
SENTENCES: Sequence[tuple[str, Evidence, str]] = (
    (
        "never-asks",
        an_evidence(requests=[a_request_record(1, path="/x", status=404)], shown=()),
        "sent 1 request, but not for events: it was GET /x",
    ),
    (
        "never-asks",
        an_evidence(requests=[a_request_record(1, path="/x")] * 2, shown=()),
        "sent 2 requests, but none for events; the first was GET /x",
    ),
    (
        "never-asks",
        an_evidence(requests=(), ending=ProgramExit(at=0.0001, code=3)),
        "ended with exit code 3 before it sent a request",
    ),
    (
        "no-header",
        an_evidence(requests=[replace(polls()[0], is_marked=False, status=400)]),
        "sent its only request without Metadata: true and received 400; it was a GET",
    ),
    (
        "no-header",
        an_evidence(requests=without_header()[:2]),
        "sent both requests without Metadata: true and received 400; the first was a"
        " GET",
    ),
    (
        "no-api-version",
        an_evidence(requests=in_version("", 400)[:1]),
        "sent 1 request without an api-version and received 400",
    ),
    (
        "hammers",
        an_evidence(requests=[*polls(until=32), a_request_record(33, status=429)]),
        "sent 1 request while receiving 429",
    ),
    (
        "ignores-retry-after",
        an_evidence(requests=[a_request_record(33, status=429)] * 2),
        "retried less than 1 ms after a 429 with Retry-After: 2",
    ),
    (
        "approves-in-vain",
        an_evidence(more=[approved(18.0, status=400)]),
        "its only approval failed with 400",
    ),
    (
        "approves-in-vain",
        an_evidence(more=[approved(18.0, status=400), *APPROVES]),
        "1 of 3 approvals failed with 400",
    ),
    (
        "approves-in-vain",
        an_evidence(more=APPROVES),
        "sent 2 approvals, all of them valid",
    ),
    ("approves-twice", an_evidence(more=APPROVES * 2), "approved an event twice"),
    (
        "rare-polls",
        an_evidence(requests=at_times(0.5, 1.5)),
        "polled at least once every 1 s",
    ),
)


@pytest.mark.parametrize(("rule", "evidence", "saw"), SENTENCES)
def test_numbers_read_naturally(rule: str, evidence: Evidence, saw: str) -> None:
    assert findings_by_rule(evidence)[rule].saw == saw


def test_finding_has_the_time_of_the_violation() -> None:
    times = {
        id_: finding.at
        for id_, finding in findings_by_rule(
            an_evidence(
                requests=[*polls(until=20), a_request_record(20, is_marked=False)],
                more=[approved(5, THEIRS), approved(16.51, MINE), *APPROVES],
            )
        ).items()
        if finding.is_found
    }
    assert times == {
        "approves-others": 5,
        "approves-unprepared": 16.51,
        "approves-twice": 18,
        "stops-after-gone": 20,
    }


def test_finding_shows_how_long_a_program_could_have_approved() -> None:
    finding = findings_by_rule(an_evidence())["approves-nothing"]
    assert finding.saw == (
        "did not approve any Freeze or Reboot event for its own VM within 12 s"
    )


def test_warnings_fail_only_in_strict_mode() -> None:
    warned = apply_rules(an_evidence(more=[approved(16.51, MINE)]))
    assert not has_failed(warned)
    assert has_failed(warned, is_strict=True)


REQUESTS = some.builds(
    a_request_record,
    some.floats(0, END, exclude_max=True),
    method=some.sampled_from(["GET", "POST", "PUT"]),
    path=some.sampled_from(["/metadata/scheduledEvents/", "/metadata/instance", "/"]),
    version=some.sampled_from(["", "2017-03-01", "2020-07-01", "2021-02-01"]),
    is_marked=some.booleans(),
    status=some.sampled_from([0, 200, 304, 400, 404, 429, 503]),
    events=some.sampled_from([(), (FREEZE,), (THEIRS, MINE), ("nobody's",)]),
    fault=some.sampled_from([None, "429", "reset", "empty"]),
)


@given(
    requests=some.lists(REQUESTS, max_size=12),
    spans=some.integers(0, len(SPANS)),
    ending=some.none()
    | some.builds(ProgramExit, at=some.floats(0, END), code=some.integers(-15, 255)),
)
def test_every_rule_describes_any_evidence_briefly(
    requests: list[RequestRecord], spans: int, ending: ProgramExit | None
) -> None:
    evidence = an_evidence(requests=requests, spans=SPANS[:spans], ending=ending)
    findings = apply_rules(evidence)
    assert [finding.rule for finding in findings] == [*RULES]
    for finding in findings:
        assert finding.saw == finding.saw.strip()
        assert 5 < len(finding.saw) < 140
    ends = [e for e in findings if e.is_found and e.rule.id.startswith("ends-")]
    assert len(ends) <= (0 if ending is None else 1)


def test_every_rule_has_a_unique_id_and_a_remedy() -> None:
    ids = [rule.id for rule in RULES]
    assert len(ids) == len({*ids})
    for rule in RULES:
        assert rule.hurts.endswith(".")
        assert rule.remedy.endswith(".")
        assert rule.facts
        assert rule.severity in Severity
