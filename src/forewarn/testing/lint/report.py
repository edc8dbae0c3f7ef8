"""Lint reports: table, reasons, summary, JSON and JUnit XML (pure)."""

from collections import Counter
from collections.abc import Iterator, Sequence
from xml.etree import ElementTree as xml

from forewarn.formats import count
from forewarn.testing.lint.findings import Finding, RuleOutcome, Severity
from forewarn.testing.lint.runner import LintResult, has_failed
from forewarn.testing.scenario.results import junit_text, xml_text

HEADER = ("rule", "verdict", "observation")

_SUITE = "forewarn.lint"


def row(finding: Finding) -> Sequence[str]:
    """Format one row of the table."""
    is_error = finding.is_found and finding.severity is Severity.ERROR
    verdict = finding.verdict
    return (finding.rule.id, verdict.upper() if is_error else verdict, finding.saw)


def reasons(linted: LintResult) -> Iterator[tuple[str, str, str]]:
    """Yield the title, consequence and remedy of each violation, worst first."""
    for severity in Severity:
        for finding in linted.findings:
            if finding.is_found and finding.severity is severity:
                title = f"{severity}: {finding.rule.id}: {finding.saw}"
                yield title, finding.rule.hurts, finding.rule.remedy


def summary(linted: LintResult, *, is_strict: bool = False) -> str:
    """Summarize the lint run in a single sentence."""
    word = "FAILED" if has_failed(linted.findings, is_strict=is_strict) else "PASSED"
    counts_by_severity = Counter(
        finding.severity for finding in linted.findings if finding.is_found
    )
    counts = [
        _count(counts_by_severity[Severity.ERROR], "error"),
        _count(counts_by_severity[Severity.WARNING], "warning"),
        _count(counts_by_severity[Severity.ADVICE], "suggestion"),
    ]
    hidden = sum(finding.outcome is RuleOutcome.UNSEEN for finding in linted.findings)
    total = len(linted.findings)
    return (
        f"{word} in {linted.seconds:.0f} s: {', '.join(counts)};"
        f" {hidden} of {total} rules could not be checked"
    )


def _count(number: int, noun: str) -> str:
    return count(number, noun) if number else f"no {noun}s"


def as_json(linted: LintResult, *, is_strict: bool = False) -> dict[str, object]:
    """Convert the result to JSON values."""
    return {
        "passed": not has_failed(linted.findings, is_strict=is_strict),
        "seconds": round(linted.seconds, 3),
        "vm": linted.evidence.vm,
        "findings": [
            {
                "rule": finding.rule.id,
                "outcome": finding.outcome.value,
                "severity": finding.severity.value if finding.is_found else None,
                "saw": finding.saw,
                "hurts": finding.rule.hurts,
                "remedy": finding.rule.remedy,
                "facts": [*finding.rule.facts],
            }
            for finding in linted.findings
        ],
        "requests": len(linted.evidence.requests),
        "output": linted.output,
    }


def as_junit(linted: LintResult, *, is_strict: bool = False) -> str:
    """Format each rule as a test case in JUnit XML, which most CI systems support."""
    cases = [_case(finding, is_strict=is_strict) for finding in linted.findings]
    return junit_text(_SUITE, cases, seconds=linted.seconds, output=linted.output)


def _case(finding: Finding, *, is_strict: bool) -> xml.Element:
    rule, saw = finding.rule, xml_text(finding.saw)
    case = xml.Element("testcase", classname=_SUITE, name=rule.id, time="0")
    if finding.outcome is RuleOutcome.UNSEEN:
        xml.SubElement(case, "skipped", message=saw)
    elif has_failed([finding], is_strict=is_strict):
        failure = xml.SubElement(case, "failure", message=saw)
        failure.text = f"{rule.hurts} {rule.remedy}"
    elif finding.is_found:
        text = f"{finding.severity}: {saw}. {rule.hurts} {rule.remedy}"
        xml.SubElement(case, "system-out").text = text
    return case
