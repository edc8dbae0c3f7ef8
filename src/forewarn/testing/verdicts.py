"""Results of a rehearsal, step by step."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from forewarn.testing.scenario import Scenario


class Verdict(StrEnum):
    """Result of one step."""

    DONE = "done"  #: carried out; nothing was expected
    PASSED = "passed"  #: the program did what was expected
    FAILED = "failed"  #: it did not, or the step could not be carried out
    NOT_REACHED = "not reached"  #: an earlier step failed


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One row of the verdict table."""

    what: str
    verdict: Verdict
    number: int | None = None  # of the step; None for a permanent expectation
    reason: str | None = None  # why it failed; None if it did not
    seconds: float = 0.0  # of real time


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """Result of a whole rehearsal."""

    scenario: Scenario
    results: Sequence[Result]
    seconds: float  # of real time
    timeline: Sequence[str] = ()  # what happened, to find the reason of a failure
    output: str = ""  # the end of the program's output
    transcript: Sequence[str] = ()  # JSON lines, identical for the same seed

    @property
    def expected(self) -> Sequence[Result]:
        """Results of expectations, and of steps that failed."""
        return [result for result in self.results if result.verdict is not Verdict.DONE]

    @property
    def failed(self) -> Sequence[Result]:
        """Results that failed."""
        return [result for result in self.results if result.verdict is Verdict.FAILED]

    @property
    def has_passed(self) -> bool:
        """Whether every step and expectation passed."""
        return all(
            result.verdict in (Verdict.DONE, Verdict.PASSED) for result in self.results
        )
