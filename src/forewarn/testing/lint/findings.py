"""Lint findings: one per rule, with outcome and severity."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from forewarn.testing.lint.evidence import Evidence


class Severity(StrEnum):
    """How serious a finding is."""

    ERROR = "error"  #: it misses events, or they start before the VM is ready
    WARNING = "warning"  #: this may happen
    ADVICE = "advice"  #: it works, but could be better


class RuleOutcome(StrEnum):
    """Result of applying a rule."""

    FOUND = "found"  #: the program violates the rule
    PASSED = "passed"  #: it does not
    UNSEEN = "unseen"  #: the situation did not occur


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleResult:
    """Outcome of a rule, with a sentence that describes the observation."""

    outcome: RuleOutcome
    saw: str
    severity: Severity | None = None  # None for that of the rule


@dataclass(frozen=True, slots=True, kw_only=True)
class LintRule:
    """Check for one kind of observable behavior that causes trouble on Azure."""

    id: str
    severity: Severity
    hurts: str  # consequence, one sentence
    remedy: str  # what to do, one sentence
    facts: tuple[str, ...]  # the facts in docs/reference/wire.md that it is based on
    check: Callable[[Evidence], RuleResult]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Result of one rule for a program."""

    rule: LintRule
    outcome: RuleOutcome
    severity: Severity
    saw: str

    @property
    def is_found(self) -> bool:
        """Whether the program violates the rule."""
        return self.outcome is RuleOutcome.FOUND

    @property
    def verdict(self) -> str:
        """Word to show: the severity if the rule is violated, else the outcome."""
        return self.severity.value if self.is_found else self.outcome.value


def found(saw: str, severity: Severity | None = None) -> RuleResult:
    """Report a violation."""
    return RuleResult(outcome=RuleOutcome.FOUND, saw=saw, severity=severity)


def passed(saw: str) -> RuleResult:
    """Report that the rule is followed."""
    return RuleResult(outcome=RuleOutcome.PASSED, saw=saw)


def unseen(saw: str) -> RuleResult:
    """Report why the rule could not be checked."""
    return RuleResult(outcome=RuleOutcome.UNSEEN, saw=saw)


def format_seconds(length: float) -> str:
    """Format a duration, such as "50 ms" or "1.5 s"."""
    return f"{length * 1000:.0f} ms" if length < 0.1 else f"{length:.1f} s"
