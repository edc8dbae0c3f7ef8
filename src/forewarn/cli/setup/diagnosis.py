"""Diagnoses, and the facts that they are derived from.

1. Checks are pure: facts in, diagnoses out. `forewarn doctor` collects the facts.
2. A check returns a single diagnosis if it finds nothing, or one for each problem.
   Equal problems share one diagnosis, so that the result is short for any fleet.
3. Without permission to read something, a check is skipped, which its diagnosis states.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

from forewarn.cli.contexts import ServiceChoice
from forewarn.cli.responses import JsonObject
from forewarn.errors import ForewarnError, Refused

#: A response, the reason why there is none, or None if it was not requested.
Part: TypeAlias = JsonObject | ForewarnError | None


class DiagnosisLevel(StrEnum):
    """The result of a check."""

    OK = "ok"
    #: The check needs something that is missing, such as a permission.
    SKIPPED = "skipped"
    WARNING = "warning"
    PROBLEM = "problem"


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnosis:
    """The result of a check, or a part of it."""

    check: str
    level: DiagnosisLevel
    text: str
    fix: str | None = None  # a command, if there is one that helps


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceFacts:
    """The responses of a service."""

    readiness: Part = None
    session: Part = None
    clock: Part = None
    clock_read_at: datetime | None = None  # by this machine's clock
    faults: Part = None
    fleet: Part = None
    limited: Part = None
    overview: Sequence[JsonObject] | ForewarnError | None = None  # items
    overview_is_cut: bool = False  # whether there are more items
    notifiers: Part = None
    tokens: Part = None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFacts:
    """The result of checking the agent's file on this machine."""

    path: str
    about: str = ""  # what the file contains, if it can be read
    problems: Sequence[str] = ()
    warnings: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorFacts:
    """Everything that is known about a service and this machine."""

    choice: ServiceChoice | ForewarnError  # an error if no service could be chosen
    service: ServiceFacts
    version: str  # of this command
    now: datetime  # by this machine's clock
    options: str = ""  # options that commands need to reach the same service
    agent: AgentFacts | None = None  # None without an agent's file

    @property
    def service_now(self) -> datetime:
        """The service's time if it is known, or this machine's."""
        clock = self.service.clock
        known = clock.time("now") if isinstance(clock, JsonObject) else None
        return known or self.now

    def command(self, words: str) -> str:
        """Return a command of the command line, for the same service."""
        return f"forewarn {words}{self.options}"


# --- for checks --------------------------------------------------------------


def unreadable(check: str, part: Part | Sequence[JsonObject]) -> Iterator[Diagnosis]:
    """Yield why a check is skipped, or why its response is missing."""
    if isinstance(part, Refused) and part.status == 403:
        yield skipped(check, "your token has no permission to read this")
    elif isinstance(part, Refused) and part.status == 404:
        yield skipped(check, "the service is older and does not report this")
    else:
        yield problem(check, str(part))


def ok(check: str, text: str) -> Diagnosis:
    """Return a check that found nothing."""
    return Diagnosis(check=check, level=DiagnosisLevel.OK, text=text)


def skipped(check: str, text: str) -> Diagnosis:
    """Return a check that was skipped."""
    return Diagnosis(check=check, level=DiagnosisLevel.SKIPPED, text=text)


def warning(check: str, text: str, fix: str) -> Diagnosis:
    """Return a warning with a command that helps."""
    return Diagnosis(check=check, level=DiagnosisLevel.WARNING, text=text, fix=fix)


def problem(check: str, text: str, fix: str | None = None) -> Diagnosis:
    """Return a problem."""
    return Diagnosis(check=check, level=DiagnosisLevel.PROBLEM, text=text, fix=fix)
