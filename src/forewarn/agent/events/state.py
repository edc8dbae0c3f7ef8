"""State of one event in the agent, from its first observation to its completion.

`EventState` is stored on disk field by field, so its fields must keep their names.
Decisions depend only on this state. All times are service times.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from forewarn.agent.config.plan import ApprovalPolicy, HookPoint, SharedApproval
from forewarn.protocol.types import ScheduledEvent


class LastStatus(StrEnum):
    """The event's last seen status."""

    #: Announced but not started.
    SCHEDULED = "Scheduled"
    #: In progress.
    STARTED = "Started"
    #: No longer in the document.
    GONE = "gone"


class HookOutcome(StrEnum):
    """The result of a hook."""

    #: The hook is running, or the agent died before the hook ended.
    RUNNING = "running"
    #: The hook exited with code 0.
    DONE = "done"
    #: The hook exited with another code or could not be run.
    FAILED = "failed"
    #: The hook was stopped because its time ran out or the event moved on.
    CUT = "cut"


@dataclass(frozen=True, slots=True, kw_only=True)
class HookRun:
    """One hook run in one step, including all tries."""

    step: HookPoint
    hook: str
    token: str  # unique name in its environment, used to find its processes
    begun_at: datetime
    times: int = 1  # number of starts; above 1 if repeated because the agent died
    outcome: HookOutcome = HookOutcome.RUNNING
    ended_at: datetime | None = None  # None while running
    tries: int = 0  # number of tries since the last start
    code: int | None = None  # exit code, or negative signal number; None if not run
    output: str = ""  # the end of its output
    reason: str = ""  # a sentence: why it failed or was cut off


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponsePlan:
    """The rule's plan for the event; later configuration changes do not affect it."""

    rule: str
    hooks: Mapping[HookPoint, tuple[str, ...]] = field(default_factory=dict)
    parallel: bool = False
    approve: ApprovalPolicy = ApprovalPolicy.NEVER
    together: SharedApproval = SharedApproval.LEADER
    ready: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Impact:
    """The event's measured effect on this VM."""

    boots: int = 0  # restarts of the VM during this time
    seconds: float = 0.0  # the longest period in which nothing ran
    total: float = 0.0  # total of all such periods

    def scaled(self, rate: float) -> "Impact":
        """Convert to the seconds of a clock that runs `rate` times as fast.

        A rate of 0 means a manual clock; the seconds are then unchanged.
        """
        if not rate:
            return self
        return Impact(
            boots=self.boots, seconds=self.seconds * rate, total=self.total * rate
        )

    def rounded(self) -> "Impact":
        """Return this impact, rounded to milliseconds."""
        seconds, total = round(self.seconds, 3), round(self.total, 3)
        return Impact(boots=self.boots, seconds=seconds, total=total)

    def __add__(self, more: "Impact") -> "Impact":
        """Return the sum of this and a later impact."""
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
    is_sudden: bool = False  # whether it was Started when first seen
    is_mine: bool = False  # whether it lists this VM
    is_leader: bool = False  # whether it lists this VM first
    boot: str = ""  # ID of the boot in which it was last seen
    course: ResponsePlan | None = None  # None if no rule matches
    runs: tuple[HookRun, ...] = ()
    posted_at: datetime | None = None  # first time an approval was sent; None if never
    approved_at: datetime | None = None  # None unless this agent approved it
    approved_elsewhere: bool = False  # started early without this agent's approval
    started_at: datetime | None = None  # None if never seen as Started
    gone_at: datetime | None = None  # None while in the document
    over_at: datetime | None = None  # None while work remains
    impact: Impact = NO_IMPACT

    @property
    def id(self) -> str:
        """The event's ID."""
        return self.event.id

    @property
    def has_action(self) -> bool:
        """Return whether the agent has run a hook or sent an approval for the event."""
        return bool(self.runs) or self.posted_at is not None
