"""What the agent knows of one event, from the first sight of it to its end.

A life is what is kept on disk; nothing that a decision rests on is kept elsewhere.
Times are the service's.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from forewarn.agent.plan import Approve, Step, Together
from forewarn.protocol.types import ScheduledEvent


class Seen(StrEnum):
    """How the event was last seen."""

    #: Announced, not yet under way.
    SCHEDULED = "Scheduled"
    #: Under way.
    STARTED = "Started"
    #: No longer in the document.
    GONE = "gone"


class Outcome(StrEnum):
    """How a hook ended."""

    #: It has not ended, or the agent has died and does not know.
    RUNNING = "running"
    #: Exit code 0.
    DONE = "done"
    #: Any other exit code, or it could not be run.
    FAILED = "failed"
    #: Its time was up, and it was ended.
    CUT = "cut"


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """One hook in one step, with all its tries."""

    step: Step
    hook: str
    token: str  # its name, and in its environment, so that what is left of it is found
    begun_at: datetime
    times: int = 1  # how often it was begun; above 1: again, after the agent died
    outcome: Outcome = Outcome.RUNNING
    ended_at: datetime | None = None  # None: still running
    tries: int = 0  # how many were made, in the last time it was begun
    code: int | None = None  # exit code, minus a signal's number; None: was not run
    output: str = ""  # the end of what it wrote
    reason: str = ""  # why it failed or was cut, in a sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Course:
    """What the rule says about the event; kept, so that a new file changes no life."""

    rule: str
    hooks: Mapping[Step, tuple[str, ...]] = field(default_factory=dict)
    parallel: bool = False
    approve: Approve = Approve.NEVER
    together: Together = Together.LEADER
    ready: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Impact:
    """What the event did to this VM, as measured."""

    boots: int = 0  # how often the VM was restarted meanwhile
    seconds: float = 0.0  # the longest time in which nothing ran
    total: float = 0.0  # all such times together

    def scaled(self, rate: float) -> "Impact":
        """Count in seconds of a clock that is `rate` times as fast; 0: of no clock."""
        if not rate:
            return self
        return Impact(
            boots=self.boots, seconds=self.seconds * rate, total=self.total * rate
        )

    def __add__(self, more: "Impact") -> "Impact":
        """Add what was felt later."""
        return Impact(
            boots=self.boots + more.boots,
            seconds=max(self.seconds, more.seconds),
            total=self.total + more.total,
        )


UNTOUCHED = Impact()


@dataclass(frozen=True, slots=True, kw_only=True)
class Life:
    """All that is known of one event."""

    event: ScheduledEvent  # as last seen
    seen: Seen
    first_at: datetime  # when it was first seen
    last_at: datetime  # when it was last seen to change
    notice: float | None = None  # seconds left at first sight; None: it is not said
    is_sudden: bool = False  # it was Started at first sight
    is_mine: bool = False  # it names this VM
    is_leader: bool = False  # and names it first
    boot: str = ""  # the boot in which it was last seen
    course: Course | None = None  # None: no rule matches
    runs: tuple[Run, ...] = ()
    posted_at: datetime | None = None  # when an approval was first sent; None: never
    approved_at: datetime | None = None  # when it was taken; None: not by this agent
    approved_elsewhere: bool = False  # it started early, and not because of us
    started_at: datetime | None = None  # None: never seen as Started
    gone_at: datetime | None = None  # None: still in the document
    over_at: datetime | None = None  # None: something is left to be done
    impact: Impact = UNTOUCHED

    @property
    def id(self) -> str:
        """The event's id."""
        return self.event.id
