"""Lint: all rules applied to the evidence on a program (pure)."""

from collections.abc import Sequence

from forewarn.testing import lint_approving, lint_asking, lint_staying
from forewarn.testing.evidence import Evidence
from forewarn.testing.findings import Finding, Rule, Severity

#: All rules, in the order in which they are reported.
RULES: Sequence[Rule] = (
    *lint_asking.RULES,
    *lint_staying.RULES,
    *lint_approving.RULES,
)


def judge(evidence: Evidence) -> Sequence[Finding]:
    """Apply every rule and return its finding."""
    return [_finding(rule, evidence) for rule in RULES]


def _finding(rule: Rule, evidence: Evidence) -> Finding:
    look = rule.look(evidence)
    severity = look.severity or rule.severity
    return Finding(rule=rule, outcome=look.outcome, severity=severity, saw=look.saw)


def has_failed(findings: Sequence[Finding], *, is_strict: bool = False) -> bool:
    """Return whether CI should fail: on an error, or if `is_strict` on a warning."""
    bad = {Severity.ERROR, Severity.WARNING} if is_strict else {Severity.ERROR}
    return any(finding.is_found and finding.severity in bad for finding in findings)
