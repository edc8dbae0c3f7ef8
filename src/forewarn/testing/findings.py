"""What a lint says of a program: a finding for each rule."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum

from forewarn.testing.evidence import Evidence


class Severity(StrEnum):
    """How much it would hurt."""

    ERROR = "error"  #: events are missed, or start before anybody is ready
    WARNING = "warning"  #: that may happen
    ADVICE = "advice"  #: it works, but could be better


class Outcome(StrEnum):
    """What came of looking."""

    FOUND = "found"  #: the program does what would hurt
    PASSED = "passed"  #: it does not
    UNSEEN = "unseen"  #: what would have shown it did not happen


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What a rule has seen, in a sentence with figures."""

    outcome: Outcome
    saw: str
    severity: Severity | None = None  # of what was found; None: that of the rule


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """Something that would hurt on Azure, and can be seen from outside."""

    id: str
    severity: Severity
    hurts: str  # why, in a sentence
    remedy: str  # what to do, in a sentence
    facts: tuple[str, ...]  # of docs/reference/wire.md, by which it is known
    look: Callable[[Evidence], Look]


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one rule says of a program."""

    rule: Rule
    outcome: Outcome
    severity: Severity
    saw: str

    @property
    def is_found(self) -> bool:
        """Whether the program does what would hurt."""
        return self.outcome is Outcome.FOUND

    @property
    def verdict(self) -> str:
        """The word for it: how much it hurts, or the outcome."""
        return self.severity.value if self.is_found else self.outcome.value


def found(saw: str, severity: Severity | None = None) -> Look:
    """Say that the program does what would hurt."""
    return Look(outcome=Outcome.FOUND, saw=saw, severity=severity)


def passed(saw: str) -> Look:
    """Say that it does not."""
    return Look(outcome=Outcome.PASSED, saw=saw)


def unseen(saw: str) -> Look:
    """Say why that could not be seen."""
    return Look(outcome=Outcome.UNSEEN, saw=saw)


def times(number: int) -> str:
    """Say how often."""
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def seconds(length: float) -> str:
    """Say how long."""
    return f"{length * 1000:.0f} ms" if length < 0.1 else f"{length:.1f} s"
