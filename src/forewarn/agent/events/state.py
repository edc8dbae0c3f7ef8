"""State of one event in the agent, from its first observation to its end.

`EventState` is stored on disk field by field, so its fields must keep their names.
Decisions depend on nothing else. Times are on the service's clock.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from forewarn.agent.config.plan import ApprovalPolicy, HookPoint, SharedApproval
from forewarn.protocol.types import ScheduledEvent


class LastStatus(StrEnum):
    """Last seen status of the event."""

    #: Announced, not started yet.
    SCHEDULED = "Scheduled"
    #: In progress.
    STARTED = "Started"
    #: No longer in the document.
    GONE = "gone"


class HookOutcome(StrEnum):
    """Result of a hook."""

    #: It is running, or the agent died before it ended.
    RUNNING = "running"
    #: Exit code 0.
    DONE = "done"
    #: Any other exit code, or it could not be run.
    FAILED = "failed"
    #: It was stopped because its time was up or the event moved on.
    CUT = "cut"


@dataclass(frozen=True, slots=True, kw_only=True)
class HookRun:
    """One hook in one step, with all its tries."""

    step: HookPoint
    hook: str
    token: str  # its unique name, in its environment, by which its processes are found
    begun_at: datetime
    times: int = 1  # number of starts; above 1 if repeated because the agent died
    outcome: HookOutcome = HookOutcome.RUNNING
    ended_at: datetime | None = None  # None while it is running
    tries: int = 0  # number of tries since its last start
    code: int | None = None  # exit code, or minus a signal's number; None if not run
    output: str = ""  # the end of its output
    reason: str = ""  # why it failed or was cut, as a sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponsePlan:
    """The rule's plan for the event, which a new configuration does not change."""

    rule: str
    hooks: Mapping[HookPoint, tuple[str, ...]] = field(default_factory=dict)
    parallel: bool = False
    approve: ApprovalPolicy = ApprovalPolicy.NEVER
    together: SharedApproval = SharedApproval.LEADER
    ready: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Impact:
    """Measured effect of the event on this VM."""

    boots: int = 0  # restarts of the VM meanwhile
    seconds: float = 0.0  # the longest period in which nothing ran
    total: float = 0.0  # all such periods together

    def scaled(self, rate: float) -> "Impact":
        """Convert to seconds of a clock `rate` times as fast; unchanged for rate 0."""
        if not rate:
            return self
        return Impact(
            boots=self.boots, seconds=self.seconds * rate, total=self.total * rate
        )

    def rounded(self) -> "Impact":
        """Round to milliseconds."""
        seconds, total = round(self.seconds, 3), round(self.total, 3)
        return Impact(boots=self.boots, seconds=seconds, total=total)

    def __add__(self, more: "Impact") -> "Impact":
        """Add a later impact."""
        return Impact(
            boots=self.boots + more.boots,
            seconds=max(self.seconds, more.seconds),
            total=self.total + more.total,
        )


NO_IMPACT = Impact()


@dataclass(frozen=True, slots=True, kw_only=True)
class EventState:
    """Everything known about one event."""

    event: ScheduledEvent  # as last seen
    seen: LastStatus
    first_at: datetime  # when it was first seen
    last_at: datetime  # when it last changed
    notice: float | None = None  # seconds left when first seen; None if unknown
    is_sudden: bool = False  # it was Started when first seen
    is_mine: bool = False  # it names this VM
    is_leader: bool = False  # it names this VM first
    boot: str = ""  # id of the boot in which it was last seen
    course: ResponsePlan | None = None  # None if no rule matches
    runs: tuple[HookRun, ...] = ()
    posted_at: datetime | None = None  # first sending of an approval; None if never
    approved_at: datetime | None = None  # None if this agent did not approve it
    approved_elsewhere: bool = False  # it started early without this agent's approval
    started_at: datetime | None = None  # None if never seen as Started
    gone_at: datetime | None = None  # None while it is in the document
    over_at: datetime | None = None  # None while something is left to do
    impact: Impact = NO_IMPACT

    @property
    def id(self) -> str:
        """The event's id."""
        return self.event.id

    @property
    def has_action(self) -> bool:
        """Whether the agent has started a hook or sent an approval for the event."""
        return bool(self.runs) or self.posted_at is not None
