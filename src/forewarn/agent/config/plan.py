"""Configuration of the agent: hooks, rules and settings.

It is read once, when the agent starts.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import time
from enum import StrEnum
from pathlib import Path

from forewarn.configfile.values import Address


class HookPoint(StrEnum):
    """A point in an event's life at which hooks run."""

    #: It is Scheduled: prepare for it.
    PREPARE = "prepare"
    #: It is Started, and was Scheduled before.
    STARTED = "started"
    #: It is Started, and was never seen as Scheduled.
    WITHOUT_NOTICE = "started-without-notice"
    #: It is gone after it was Started.
    RECOVER = "recover"
    #: It is gone and was never Started: it was canceled.
    UNDO = "undo"


class ApprovalPolicy(StrEnum):
    """Whether an event is approved, and when."""

    #: When every hook of `prepare` has succeeded.
    AFTER_HOOKS = "after-hooks"
    #: As soon as it is seen.
    AT_ONCE = "at-once"
    #: The agent does not approve it.
    NEVER = "never"


class SharedApproval(StrEnum):
    """Which VM approves an event that names several VMs."""

    #: The first of its resources.
    LEADER = "leader"
    #: Every VM for itself; the first approval counts.
    EACH = "each"
    #: Any VM whose hook reports that all are ready.
    WHEN_READY = "when-ready"


class RuleScope(StrEnum):
    """Which events a rule applies to, by the VMs that they name."""

    #: Events that name this VM.
    ME = "me"
    #: Events that name only other VMs of the group.
    OTHERS = "others"
    #: All visible events.
    ANYONE = "anyone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """A command or a Python function that runs for an event."""

    name: str
    command: tuple[str, ...] = ()  # empty if `python` is called
    python: str | None = None  # "package.module:function"; None if `command` is run
    is_script: bool = False  # whether it is a file in the scripts folder
    timeout: float | None = None  # seconds; None if only the event limits it
    tries: int = 1
    retry_after: float = 1.0  # seconds between two tries


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberRange:
    """Numbers from `least` to `most`, both included."""

    least: float | None = None  # None if there is no bound
    most: float | None = None  # None if there is no bound


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """Hours on some weekdays; lasts past midnight if it ends before it begins."""

    days: frozenset[int] = frozenset(range(7))  # Monday is 0; the day it begins
    begins: time = time()
    ends: time = time()  # equal to `begins` for the whole day
    zone: str = "UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What to do about matching events; the first matching rule applies."""

    name: str
    types: frozenset[str] | None = None  # None for any
    sources: frozenset[str] | None = None  # None for any
    duration: NumberRange | None = (
        None  # of announced seconds; None for any, even unknown
    )
    notice: NumberRange | None = (
        None  # of the seconds left when first seen; None for any
    )
    concerns: RuleScope = RuleScope.ME
    description: str | None = None  # a glob that ignores case; None for any
    window: Window | None = None  # when the event is first seen; None for always
    hooks: Mapping[HookPoint, tuple[str, ...]] = field(default_factory=dict)  # names
    parallel: bool = False  # whether the hooks of a step run at the same time
    approve: ApprovalPolicy = ApprovalPolicy.AFTER_HOOKS
    together: SharedApproval = SharedApproval.LEADER
    ready: str | None = None  # the readiness hook; None if there is none


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """All settings of the agent's file."""

    state: Path
    file: Path | None = None  # where this was read from; None without a file
    endpoint: str | None = None  # None if the client's default applies
    discover: bool = False  # search for the endpoint; `endpoint` is then None
    name: str | None = None  # None if /metadata/instance has the name
    api_version: str = "2020-07-01"
    poll: float = 1.0  # seconds between two requests without long polls
    wait: bool = True  # use long polls if the service supports them
    blind_after: float = 30.0  # seconds without a document that raise an alarm
    reserve: float = 5.0  # seconds before NotBefore in which no hook may run
    kill_after: float = 2.0  # seconds between TERM and KILL
    ready_every: float = 5.0  # seconds between two readiness checks
    hooks_at_once: int = 8  # for all events together
    metrics: Address | None = None  # for metrics and health; None if off
    textfile: Path | None = None  # metrics file for a collector; None if off
    scripts: Path | None = None  # a folder of on<Type>.sh; None if there is none
    log_format: str = "text"  # or "json"
    log_level: str = "info"
    hooks: Mapping[str, Hook] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()  # rules for scripts come last
    warnings: tuple[str, ...] = ()  # problems in the file that are not errors
