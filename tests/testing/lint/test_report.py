"""Lint reports as text, JSON and JUnit XML."""

import json
from collections.abc import Iterable
from xml.etree import ElementTree

import pytest
from tests.testing.support.lint_evidence import (
    FREEZE,
    MINE,
    SPANS,
    THEIRS,
    an_evidence,
    approved,
)

from forewarn.server.metadata.faults.observer import RequestRecord
from forewarn.testing.lint.report import (
    as_json,
    as_junit,
    count_others,
    details,
    problems,
    summary,
)
from forewarn.testing.lint.runner import RULES, LintResult, apply_rules

UNPREPARED = approved(16.51, MINE)
GOOD = (approved(8.6, FREEZE), approved(18.0, MINE))


def a_linted(
    more: Iterable[RequestRecord] = (approved(5, THEIRS), UNPREPARED),
    *,
    rules: int = len(RULES),
    parts: int = len(SPANS),
    seconds: float = 31.4,
    output: str = "",
) -> LintResult:
    """Make a result, by default with one error and one warning."""
    evidence = an_evidence(
        more=more, spans=SPANS[:parts], is_cut_short=parts < len(SPANS)
    )
    return LintResult(
        findings=apply_rules(evidence)[-rules:],
        evidence=evidence,
        seconds=seconds,
        output=output,
    )


def test_problems_are_listed_with_errors_first() -> None:
    found = [*problems(a_linted())]
    assert [(finding.verdict, finding.rule.id) for finding in found] == [
        ("error", "approves-others"),
        ("warning", "approves-unprepared"),
    ]


def test_problem_shows_what_the_program_did_and_when() -> None:
    linted = a_linted()
    first = next(problems(linted))
    assert [*details(first, linted.evidence)] == [
        ("What", "approved the platform Reboot of vm-1"),
        (
            "When",
            "5 s after the start, in part 2 of 11: a Reboot of another VM (vm-1) is"
            " scheduled",
        ),
        ("Why", first.rule.hurts),
        ("Do", first.rule.remedy),
    ]


@pytest.mark.parametrize(
    ("linted", "text"),
    [
        (a_linted(), "28 rules passed"),
        (a_linted(rules=2), "2 rules passed"),
        (a_linted((), rules=5), "1 rule passed and 3 could not be checked"),
        (a_linted((), rules=1), ""),
    ],
)
def test_other_rules_are_counted(linted: LintResult, text: str) -> None:
    assert count_others(linted) == text


@pytest.mark.parametrize(
    ("linted", "is_strict", "text"),
    [
        (a_linted(), False, "FAILED in 31 s: 1 error and 1 warning"),
        (a_linted([UNPREPARED]), False, "PASSED in 31 s: 1 warning"),
        (
            a_linted([UNPREPARED]),
            True,
            "FAILED in 31 s: 1 warning; warnings count as errors",
        ),
        (a_linted(GOOD, seconds=0.04), True, "PASSED in 0.1 s: no problems"),
        (
            a_linted(GOOD, rules=len(RULES) - 1),
            False,
            "PASSED in 31 s: no problems; 1 rule ignored",
        ),
        (
            a_linted((), parts=2),
            False,
            "PASSED in 31 s: 1 suggestion; time ran out in part 2 of 11",
        ),
    ],
)
def test_summary_is_one_sentence(
    linted: LintResult, is_strict: bool, text: str
) -> None:
    assert summary(linted, is_strict=is_strict) == text


def test_json_has_every_rule() -> None:
    report = json.loads(json.dumps(as_json(a_linted())))
    assert report["passed"] is False
    assert [finding["rule"] for finding in report["findings"]] == [
        rule.id for rule in RULES
    ]
    (error,) = [
        finding for finding in report["findings"] if finding["severity"] == "error"
    ]
    assert error["saw"] == "approved the platform Reboot of vm-1"


def test_junit_has_failures_and_output() -> None:
    suite = ElementTree.fromstring(as_junit(a_linted(output="\x1b[1mhello\x00")))[0]
    assert (suite.get("tests"), suite.get("failures")) == (str(len(RULES)), "1")
    (failed,) = suite.findall("testcase[failure]")
    assert failed.get("name") == "approves-others"
    assert suite.findtext("system-out", "").strip() == "[1mhello"


def test_junit_counts_warnings_in_strict_mode() -> None:
    suite = ElementTree.fromstring(as_junit(a_linted(), is_strict=True))[0]
    assert suite.get("failures") == "2"


def test_rules_without_evidence_are_skipped() -> None:
    evidence = an_evidence(requests=(), shown=(), spans=())
    linted = LintResult(
        findings=apply_rules(evidence), evidence=evidence, seconds=1, output=""
    )
    suite = ElementTree.fromstring(as_junit(linted))[0]
    assert suite.get("skipped") == str(len(RULES) - 1)
