"""Lint reports as text, JSON and JUnit XML."""

import json
from xml.etree import ElementTree

from tests.testing.support.lint_evidence import MINE, THEIRS, an_evidence, approved

from forewarn.testing.lint.report import as_json, as_junit, reasons, row, summary
from forewarn.testing.lint.runner import RULES, LintResult, apply_rules


def a_linted(*, at: float = 16.51, output: str = "") -> LintResult:
    """Make a result with one error and one warning."""
    evidence = an_evidence(more=[approved(5, THEIRS), approved(at, MINE)])
    return LintResult(
        findings=apply_rules(evidence), evidence=evidence, seconds=31.4, output=output
    )


def test_errors_are_in_capitals_in_the_table() -> None:
    rows = {name: verdict for name, verdict, _ in map(row, a_linted().findings)}
    assert rows["approves-others"] == "ERROR"
    assert rows["approves-unprepared"] == "warning"
    assert rows["no-header"] == "passed"


def test_errors_are_explained_before_warnings() -> None:
    explained = [*reasons(a_linted())]
    assert [title.split(": ")[:2] for title, _, _ in explained] == [
        ["error", "approves-others"],
        ["warning", "approves-unprepared"],
    ]
    assert all(hurts and remedy for _, hurts, remedy in explained)


def test_summary_counts_findings() -> None:
    assert summary(a_linted()) == (
        "FAILED in 31 s: 1 error, 1 warning, no suggestions;"
        f" 0 of {len(RULES)} rules could not be checked"
    )


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
