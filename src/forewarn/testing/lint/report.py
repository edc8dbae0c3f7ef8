"""Lint reports: problems, other rules, summary, JSON and JUnit XML (pure)."""

from collections.abc import Iterator, Sequence
from xml.etree import ElementTree as xml

from forewarn.formats import count, format_duration, join_all
from forewarn.testing.lint.evidence import CoursePart, Evidence
from forewarn.testing.lint.findings import (
    Finding,
    RuleOutcome,
    Severity,
    format_seconds,
)
from forewarn.testing.lint.runner import RULES, LintResult, has_failed
from forewarn.testing.scenario.results import junit_text, xml_text

_SUITE = "forewarn.lint"


def problems(linted: LintResult) -> Iterator[Finding]:
    """Yield the violations, worst first."""
    for severity in Severity:
        for finding in linted.findings:
            if finding.is_found and finding.severity is severity:
                yield finding


def details(finding: Finding, evidence: Evidence) -> Sequence[tuple[str, str | None]]:
    """Return what a program did, when, why that is a problem, and what to do."""
    return (
        ("What", finding.saw),
        ("When", _when(finding, evidence)),
        ("Why", finding.rule.hurts),
        ("Do", finding.rule.remedy),
    )


def _when(finding: Finding, evidence: Evidence) -> str | None:
    """Describe when a violation was observed, or return None if it has no time."""
    if finding.at is None:
        return None
    after = f"{format_seconds(finding.at - evidence.began)} after the start"
    part = evidence.part_at(finding.at)
    if part is None:
        return after
    number = [*CoursePart].index(part) + 1
    return f"{after}, in part {number} of {len(CoursePart)}: {part.text}"


def others(linted: LintResult) -> Iterator[tuple[str, Sequence[Finding]]]:
    """Yield the rules that passed and those that could not be checked."""
    for outcome, text in (
        (RuleOutcome.PASSED, "passed"),
        (RuleOutcome.UNSEEN, "could not be checked"),
    ):
        findings = [item for item in linted.findings if item.outcome is outcome]
        if findings:
            yield text, findings


def count_others(linted: LintResult) -> str:
    """Count the rules that passed and those that could not be checked, if any."""
    return join_all(
        [
            f"{len(findings) if number else count(len(findings), 'rule')} {text}"
            for number, (text, findings) in enumerate(others(linted))
        ]
    )


def summary(linted: LintResult, *, is_strict: bool = False) -> str:
    """Summarize the lint run in a single sentence."""
    has_error = has_failed(linted.findings)
    is_failed = has_failed(linted.findings, is_strict=is_strict)
    found = [
        count(number, severity)
        for severity in Severity
        if (number := sum(e.severity is severity for e in problems(linted)))
    ]
    verdict = "FAILED" if is_failed else "PASSED"
    took = format_duration(max(round(linted.seconds, 1), 0.1))
    notes = []
    if is_failed and not has_error:
        notes.append("warnings count as errors")
    if linted.evidence.is_cut_short:
        part = len(linted.evidence.spans)
        notes.append(f"time ran out in part {part} of {len(CoursePart)}")
    if ignored := len(_ignored(linted)):
        notes.append(f"{count(ignored, 'rule')} ignored")
    result = f"{verdict} in {took}: {join_all(found) or 'no problems'}"
    return "; ".join([result, *notes])


def as_json(linted: LintResult, *, is_strict: bool = False) -> dict[str, object]:
    """Convert the result to JSON values."""
    evidence = linted.evidence
    return {
        "passed": not has_failed(linted.findings, is_strict=is_strict),
        "seconds": round(linted.seconds, 3),
        "timed_out": evidence.is_cut_short,
        "vm": evidence.vm,
        "findings": [_plain(finding, evidence) for finding in linted.findings],
        "ignored": _ignored(linted),
        "requests": len(evidence.requests),
        "output": linted.output,
    }


def _plain(finding: Finding, evidence: Evidence) -> dict[str, object]:
    rule, at = finding.rule, finding.at
    return {
        "rule": rule.id,
        "outcome": finding.outcome.value,
        "severity": finding.severity.value if finding.is_found else None,
        "saw": finding.saw,
        "at": None if at is None else round(at - evidence.began, 3),
        "part": None if at is None else evidence.part_at(at),
        "hurts": rule.hurts,
        "remedy": rule.remedy,
        "facts": [*rule.facts],
    }


def _ignored(linted: LintResult) -> Sequence[str]:
    applied = {finding.rule.id for finding in linted.findings}
    return [rule.id for rule in RULES if rule.id not in applied]


def as_junit(linted: LintResult, *, is_strict: bool = False) -> str:
    """Format each rule as a test case in JUnit XML, which most CI systems support."""
    cases = [
        _case(finding, linted.evidence, is_strict=is_strict)
        for finding in linted.findings
    ]
    return junit_text(_SUITE, cases, seconds=linted.seconds, output=linted.output)


def _case(finding: Finding, evidence: Evidence, *, is_strict: bool) -> xml.Element:
    saw = xml_text(finding.saw)
    case = xml.Element("testcase", classname=_SUITE, name=finding.rule.id, time="0")
    lines = [f"{name}: {text}" for name, text in details(finding, evidence) if text]
    text = xml_text("\n".join(lines))
    if finding.outcome is RuleOutcome.UNSEEN:
        xml.SubElement(case, "skipped", message=saw)
    elif has_failed([finding], is_strict=is_strict):
        xml.SubElement(case, "failure", message=saw).text = text
    elif finding.is_found:
        xml.SubElement(case, "system-out").text = f"{finding.severity}\n{text}"
    return case
