"""Judges what was seen of a program: what would hurt on Azure; pure."""

from collections.abc import Sequence

from forewarn.testing import lint_approving, lint_asking, lint_staying
from forewarn.testing.evidence import Evidence
from forewarn.testing.findings import Finding, Rule, Severity

#: Every rule, in the order in which it is told.
RULES: Sequence[Rule] = (
    *lint_asking.RULES,
    *lint_staying.RULES,
    *lint_approving.RULES,
)


def judge(evidence: Evidence) -> Sequence[Finding]:
    """Let each rule say what it finds, passes or cannot have seen."""
    return [_finding(rule, evidence) for rule in RULES]


def _finding(rule: Rule, evidence: Evidence) -> Finding:
    look = rule.look(evidence)
    severity = look.severity or rule.severity
    return Finding(rule=rule, outcome=look.outcome, severity=severity, saw=look.saw)


def has_failed(findings: Sequence[Finding], *, is_strict: bool = False) -> bool:
    """Whether CI should stop: at an error; if `is_strict`, at a warning, too."""
    bad = {Severity.ERROR, Severity.WARNING} if is_strict else {Severity.ERROR}
    return any(each.is_found and each.severity in bad for each in findings)
