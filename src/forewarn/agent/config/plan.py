"""The agent's configuration: hooks, rules and settings.

The configuration is read once, when the agent starts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import time
from enum import StrEnum
from pathlib import Path

from forewarn.configfile.values import Address


class HookPoint(StrEnum):
    """A point in an event's life at which hooks run."""

    #: The event is Scheduled; prepare for it.
    PREPARE = "prepare"
    #: The event is Started and was Scheduled before.
    STARTED = "started"
    #: The event is Started and was never seen as Scheduled.
    WITHOUT_NOTICE = "started-without-notice"
    #: The event is gone after it was Started.
    RECOVER = "recover"
    #: The event is gone and was never Started, so it was canceled.
    UNDO = "undo"


class ApprovalPolicy(StrEnum):
    """Whether and when an event is approved."""

    #: When all `prepare` hooks have succeeded.
    AFTER_HOOKS = "after-hooks"
    #: As soon as the event is seen.
    AT_ONCE = "at-once"
    #: Never; the agent does not approve the event.
    NEVER = "never"


class SharedApproval(StrEnum):
    """Which VM approves an event that lists several VMs."""

    #: The first VM in the event's resources.
    LEADER = "leader"
    #: Each VM separately; the first approval counts.
    EACH = "each"
    #: Any VM whose hook reports that all VMs are ready.
    WHEN_READY = "when-ready"


class RuleScope(StrEnum):
    """Which events a rule applies to, depending on the VMs that they list."""

    #: Events that list this VM.
    ME = "me"
    #: Events that list only other VMs in the group.
    OTHERS = "others"
    #: All visible events.
    ANYONE = "anyone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """A command or a Python function that runs for an event."""

    name: str
    command: tuple[str, ...] = ()  # empty if `python` is used
    python: str | None = None  # "package.module:function"; None if `command` is used
    is_script: bool = False  # whether it is a file in the scripts directory
    timeout: float | None = None  # seconds; None if only the event limits it
    tries: int = 1
    retry_after: float = 1.0  # seconds between two tries


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberRange:
    """Numbers from `least` to `most`, inclusive."""

    least: float | None = None  # None for no lower bound
    most: float | None = None  # None for no upper bound


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Hours on certain weekdays; they cross midnight if the end is before the start."""

    days: frozenset[int] = frozenset(range(7))  # Monday is 0; the day the window begins
    begins: time = time()
    ends: time = time()  # equal to `begins` for a whole day
    zone: str = "UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """The response to matching events; the first matching rule applies."""

    name: str
    types: frozenset[str] | None = None  # None for any
    sources: frozenset[str] | None = None  # None for any
    duration: NumberRange | None = None  # announced seconds; None for any, even unknown
    notice: NumberRange | None = None  # seconds left when first seen; None for any
    concerns: RuleScope = RuleScope.ME
    description: str | None = None  # a case-insensitive glob; None for any
    window: Window | None = None  # when the event is first seen; None for always
    hooks: Mapping[HookPoint, tuple[str, ...]] = field(default_factory=dict)  # names
    parallel: bool = False  # whether the hooks of a step run at the same time
    approve: ApprovalPolicy = ApprovalPolicy.AFTER_HOOKS
    together: SharedApproval = SharedApproval.LEADER
    ready: str | None = None  # the readiness hook, if any


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All settings in the agent's file."""

    state: Path
    file: Path | None = None  # the file that this was read from, if any
    endpoint: str | None = None  # None for the client's default
    discover: bool = False  # search for the endpoint; `endpoint` is then None
    name: str | None = None  # None to use the name in /metadata/instance
    api_version: str = "2020-07-01"
    poll: float = 1.0  # seconds between two requests without long polls
    wait: bool = True  # whether to use long polls if the service supports them
    blind_after: float = 30.0  # seconds without a document that raise an alarm
    reserve: float = 5.0  # seconds before NotBefore in which no hook may run
    kill_after: float = 2.0  # seconds between TERM and KILL
    ready_every: float = 5.0  # seconds between two readiness checks
    hooks_at_once: int = 8  # for all events together
    metrics: Address | None = None  # for metrics and health; None if off
    textfile: Path | None = None  # metrics file for a collector; None if off
    scripts: Path | None = None  # a directory of on<Type>.sh files, if any
    log_format: str = "text"  # or "json"
    log_level: str = "info"
    hooks: Mapping[str, Hook] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()  # rules for scripts come last
    warnings: tuple[str, ...] = ()  # problems in the file that are not errors
