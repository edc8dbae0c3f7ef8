"""The linter, which plays the course to a program and applies all rules."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from forewarn.testing.lint import approval_rules, poll_rules, resilience_rules
from forewarn.testing.lint.course import LintCourse, LintPace
from forewarn.testing.lint.evidence import CoursePart, Evidence
from forewarn.testing.lint.findings import Finding, LintRule, Severity
from forewarn.testing.lint.observer import LintRehearsal

#: All rules, in reporting order.
RULES: Sequence[LintRule] = (
    *poll_rules.RULES,
    *resilience_rules.RULES,
    *approval_rules.RULES,
)

_VMS = ("vm-0", "vm-1", "vm-2")  # the program runs in the first VM

#: The group is enabled on demand, so that the incarnation restarts after a day without
#: polls. All VMs are in the same update domain, so that events do not wait for each
#: other if the program approves them all.
_FLEET: dict[str, object] = {
    "hosts": [{"name": f"host-{number}"} for number in range(3)],
    "groups": [{"name": "lint", "kind": "availability-set"}],
    "vms": [
        {"name": vm, "group": "lint", "host": f"host-{number}", "update_domain": 0}
        for number, vm in enumerate(_VMS)
    ],
}


@dataclass(frozen=True, slots=True, kw_only=True)
class LintTrial:
    """A program to lint, with options."""

    command: Sequence[str]
    metadata: str = "127.0.0.1:0"
    timeout: float = 60.0  # seconds of real time for the whole lint run
    output: str | None = None  # file for the program's output; None: keep only its end
    ignored: Sequence[str] = ()  # IDs of rules to skip
    pace: LintPace = field(default_factory=LintPace)


@dataclass(frozen=True, slots=True, kw_only=True)
class LintResult:
    """The result of a lint run."""

    findings: Sequence[Finding]
    evidence: Evidence
    seconds: float  # in real time
    output: str  # the end of the program's output


def lint(trial: LintTrial, begin: Callable[[CoursePart], None]) -> LintResult:
    """Lint the program in `trial`; call `begin` before each part."""
    began = time.monotonic()
    with (
        LintRehearsal(fleet=_FLEET, metadata=trial.metadata) as rehearsal,
        rehearsal.run(*trial.command, output=trial.output) as program,
    ):
        deadline = began + trial.timeout
        evidence = LintCourse(
            rehearsal, program, trial.pace, deadline=deadline, begin=begin
        ).play()
    return LintResult(
        findings=[e for e in apply_rules(evidence) if e.rule.id not in trial.ignored],
        evidence=evidence,
        seconds=time.monotonic() - began,
        output=program.written,
    )


def apply_rules(evidence: Evidence) -> Sequence[Finding]:
    """Apply every rule and return the findings."""
    return [_finding(rule, evidence) for rule in RULES]


def _finding(rule: LintRule, evidence: Evidence) -> Finding:
    result = rule.check(evidence)
    severity = result.severity or rule.severity
    return Finding(
        rule=rule,
        outcome=result.outcome,
        severity=severity,
        saw=result.saw,
        at=result.at,
    )


def has_failed(findings: Sequence[Finding], *, is_strict: bool = False) -> bool:
    """Return whether there is an error or, if `is_strict` is True, a warning."""
    bad = {Severity.ERROR, Severity.WARNING} if is_strict else {Severity.ERROR}
    return any(finding.is_found and finding.severity in bad for finding in findings)
