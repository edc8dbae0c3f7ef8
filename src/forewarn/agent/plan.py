"""What the agent is told to do: hooks, rules, and how it behaves.

All of it comes from one file; nothing here changes while the agent runs.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import time
from enum import StrEnum
from pathlib import Path


class Step(StrEnum):
    """A moment in an event's life at which hooks run."""

    #: It is Scheduled: get ready.
    PREPARE = "prepare"
    #: It is Started, and was Scheduled before.
    STARTED = "started"
    #: It is Started, and was never seen as Scheduled.
    WITHOUT_NOTICE = "started-without-notice"
    #: It is gone after it was Started.
    RECOVER = "recover"
    #: It is gone, and never was Started: it was called off.
    UNDO = "undo"


class Approve(StrEnum):
    """Whether an event is approved, and when."""

    #: When every hook of `prepare` has succeeded.
    AFTER_HOOKS = "after-hooks"
    #: As soon as it is seen.
    AT_ONCE = "at-once"
    #: Not by this agent.
    NEVER = "never"


class Together(StrEnum):
    """Who approves an event that names several VMs."""

    #: The first of its resources.
    LEADER = "leader"
    #: Every VM for itself; the first one counts.
    EACH = "each"
    #: Whoever is told by a hook that all are ready.
    WHEN_READY = "when-ready"


class Concerns(StrEnum):
    """Whose events a rule is for."""

    #: Those that name this VM.
    ME = "me"
    #: Those that name others of the group only.
    OTHERS = "others"
    #: All that are shown.
    ANYONE = "anyone"


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """A command, or a function of Python's, that does something about an event."""

    name: str
    command: tuple[str, ...] = ()  # empty: `python` is called
    python: str | None = None  # "package.module:function"
    timeout: float | None = None  # seconds; None: as long as the event allows
    tries: int = 1
    retry_after: float = 1.0  # seconds between two tries


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """From `least` to `most`, both included."""

    least: float | None = None  # None: no bound
    most: float | None = None  # None: no bound


@dataclass(frozen=True, slots=True, kw_only=True)
class Window:
    """A part of some days; it goes over midnight if it ends before it begins."""

    days: frozenset[int] = frozenset(range(7))  # Monday is 0; the day it begins
    begins: time = time()
    ends: time = time()  # the same as `begins`: the whole day
    zone: str = "UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What to do about some events: the first rule that matches is the one."""

    name: str
    types: frozenset[str] | None = None  # None: any
    sources: frozenset[str] | None = None  # None: any
    duration: Range | None = None  # of the announced seconds; None: any, also unknown
    notice: Range | None = None  # of the seconds left when it is first seen
    concerns: Concerns = Concerns.ME
    description: str | None = None  # a glob, whatever the case; None: any
    window: Window | None = None  # in which the event is first seen; None: always
    hooks: Mapping[Step, tuple[str, ...]] = field(default_factory=dict)  # names
    parallel: bool = False  # the hooks of a step run all at once
    approve: Approve = Approve.AFTER_HOOKS
    together: Together = Together.LEADER
    ready: str | None = None  # the hook that tells whether all are ready


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Everything that the agent's file says."""

    state: Path
    endpoint: str | None = None  # None: as the client finds it
    name: str | None = None  # None: as /metadata/instance says
    api_version: str = "2020-07-01"
    poll: float = 1.0  # seconds between two questions, where waiting is not offered
    wait: bool = True  # be held where that is offered, and told of a change at once
    blind_after: float = 30.0  # seconds without a document that are an alarm
    reserve: float = 5.0  # seconds before NotBefore that no hook gets
    kill_after: float = 2.0  # seconds between TERM and KILL
    ready_every: float = 5.0  # seconds between two questions whether all are ready
    metrics: str | None = None  # HOST:PORT of metrics and health; None: none
    textfile: Path | None = None  # where metrics are written for a collector
    scripts: Path | None = None  # a folder of on<Type>.sh; None: there is none
    log_format: str = "text"  # or "json"
    log_level: str = "info"
    hooks: Mapping[str, Hook] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()  # those of the scripts are the last
    warnings: tuple[str, ...] = ()  # what is odd in the file, and no error
