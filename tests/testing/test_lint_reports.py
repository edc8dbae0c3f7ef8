"""What a lint found, as people, CI and programs read it."""

import json
from xml.etree import ElementTree

from tests.testing.lookings import MINE, THEIRS, an_evidence, approved

from forewarn.testing.evidence import Part
from forewarn.testing.lint import RULES, judge
from forewarn.testing.lint_reports import (
    PARTS,
    as_json,
    as_junit,
    reasons,
    row,
    summary,
)
from forewarn.testing.linting import Linted


def a_linted(*, at: float = 12.51, output: str = "") -> Linted:
    """One error, one warning, and nothing else."""
    evidence = an_evidence(more=[approved(5, THEIRS), approved(at, MINE)])
    return Linted(
        findings=judge(evidence), evidence=evidence, seconds=31.4, output=output
    )


def test_an_error_stands_out_in_the_table() -> None:
    rows = {name: verdict for name, verdict, _ in map(row, a_linted().findings)}
    assert rows["approves-others"] == "ERROR"
    assert rows["approves-unprepared"] == "warning"
    assert rows["no-header"] == "passed"


def test_errors_are_explained_before_warnings() -> None:
    said = [*reasons(a_linted())]
    assert [title.split(": ")[:2] for title, _, _ in said] == [
        ["error", "approves-others"],
        ["warning", "approves-unprepared"],
    ]
    assert all(hurts and remedy for _, hurts, remedy in said)


def test_the_summary_counts() -> None:
    assert summary(a_linted()) == (
        "FAILED in 31 s: 1 error, 1 warning, 0 pieces of advice;"
        f" 0 of {len(RULES)} rules could not be seen"
    )


def test_programs_read_every_rule() -> None:
    said = json.loads(json.dumps(as_json(a_linted())))
    assert said["passed"] is False
    assert [each["rule"] for each in said["findings"]] == [rule.id for rule in RULES]
    (error,) = [each for each in said["findings"] if each["severity"] == "error"]
    assert error["saw"] == "approved the platform's Reboot of vm-1"


def test_ci_reads_failures_and_what_could_not_be_seen() -> None:
    suite = ElementTree.fromstring(as_junit(a_linted(output="\x1b[1mhello\x00")))[0]
    assert (suite.get("tests"), suite.get("failures")) == (str(len(RULES)), "1")
    (failed,) = suite.findall("testcase[failure]")
    assert failed.get("name") == "approves-others"
    assert suite.findtext("system-out", "").strip() == "[1mhello"


def test_ci_fails_at_a_warning_where_that_is_wanted() -> None:
    suite = ElementTree.fromstring(as_junit(a_linted(), is_strict=True))[0]
    assert suite.get("failures") == "2"


def test_what_could_not_be_seen_is_skipped() -> None:
    evidence = an_evidence(requests=(), shown=(), spans=())
    linted = Linted(findings=judge(evidence), evidence=evidence, seconds=1, output="")
    suite = ElementTree.fromstring(as_junit(linted))[0]
    assert suite.get("skipped") == str(len(RULES) - 1)


def test_every_part_is_told() -> None:
    assert [*PARTS] == [*Part]
