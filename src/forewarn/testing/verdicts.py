"""What came of a rehearsal, step by step."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from forewarn.testing.scenario import Scenario


class Verdict(StrEnum):
    """What came of one step."""

    DONE = "done"  #: it was carried out; nothing was expected
    PASSED = "passed"  #: the program did what is expected
    FAILED = "failed"  #: it did not, or the step could not be carried out
    NOT_REACHED = "not reached"  #: an earlier one failed


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """One line of the verdict."""

    what: str
    verdict: Verdict
    number: int | None = None  # of the step; None: it is expected throughout
    reason: str | None = None  # why it failed
    seconds: float = 0.0  # of real time that it took


@dataclass(frozen=True, slots=True, kw_only=True)
class Played:
    """A whole rehearsal, as it went."""

    scenario: Scenario
    results: Sequence[Result]
    seconds: float  # of real time
    timeline: Sequence[str] = ()  # what happened, for whoever looks for the reason
    output: str = ""  # the end of what the program wrote
    transcript: Sequence[str] = ()  # lines of JSON, the same for the same seed

    @property
    def expected(self) -> Sequence[Result]:
        """What was expected, or went wrong."""
        return [each for each in self.results if each.verdict is not Verdict.DONE]

    @property
    def failed(self) -> Sequence[Result]:
        """What went wrong."""
        return [each for each in self.results if each.verdict is Verdict.FAILED]

    @property
    def has_passed(self) -> bool:
        """Whether the program did all that is expected."""
        return all(
            each.verdict in (Verdict.DONE, Verdict.PASSED) for each in self.results
        )
