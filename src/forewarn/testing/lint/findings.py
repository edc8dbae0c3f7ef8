"""Lint findings, one for each rule, with their outcomes and severities."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from forewarn.formats import count, format_duration
from forewarn.testing.lint.evidence import Evidence


class Severity(StrEnum):
    """How serious a finding is."""

    ERROR = "error"  #: it misses events, or they start before the VM is ready
    WARNING = "warning"  #: it may miss events
    SUGGESTION = "suggestion"  #: it works but could be better


class RuleOutcome(StrEnum):
    """The result of applying a rule."""

    FOUND = "found"  #: the program violates the rule
    PASSED = "passed"  #: the program follows the rule
    UNSEEN = "unseen"  #: the situation did not occur


@dataclass(frozen=True, slots=True, kw_only=True)
class RuleResult:
    """The outcome of a rule, with a sentence about the observation."""

    outcome: RuleOutcome
    saw: str
    at: float | None = None  # monotonic time of a violation; None if it has no time
    severity: Severity | None = None  # None for the rule's own severity


@dataclass(frozen=True, slots=True, kw_only=True)
class LintRule:
    """A check for one kind of observable behavior that causes trouble on Azure."""

    id: str
    severity: Severity
    hurts: str  # the consequence, as one sentence
    remedy: str  # the remedy, as one sentence
    facts: tuple[str, ...]  # facts in docs/reference/wire.md that justify it
    check: Callable[[Evidence], RuleResult]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The result of one rule for a program."""

    rule: LintRule
    outcome: RuleOutcome
    severity: Severity
    saw: str
    at: float | None = None  # monotonic time of a violation; None if it has no time

    @property
    def is_found(self) -> bool:
        """Return whether the program violates the rule."""
        return self.outcome is RuleOutcome.FOUND

    @property
    def verdict(self) -> str:
        """The word to display: the severity of a violation, otherwise the outcome."""
        return self.severity.value if self.is_found else self.outcome.value


def found(
    saw: str, *, at: float | None = None, severity: Severity | None = None
) -> RuleResult:
    """Report a violation, which was observed at the monotonic time `at`."""
    return RuleResult(outcome=RuleOutcome.FOUND, saw=saw, at=at, severity=severity)


def passed(saw: str) -> RuleResult:
    """Report that the rule is followed."""
    return RuleResult(outcome=RuleOutcome.PASSED, saw=saw)


def unseen(saw: str) -> RuleResult:
    """Report why the rule could not be checked."""
    return RuleResult(outcome=RuleOutcome.UNSEEN, saw=saw)


def format_seconds(length: float) -> str:
    """Format a duration, for example "50 ms" or "1.5 s"."""
    if length < 0.0005:
        return "less than 1 ms"
    return f"{length * 1000:.0f} ms" if length < 0.1 else format_duration(length)


def format_share(number: int, total: int, noun: str) -> str:
    """Format a part of the program's `total`, for example "3 of 7 requests"."""
    if number < total:
        return f"{number} of {count(total, noun)}"
    whole = {1: f"its only {noun}", 2: f"both {noun}s"}
    return whole.get(total, f"all {count(total, noun)}")
