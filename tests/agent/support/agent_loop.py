"""Agent under test: everything is real except the service and the clocks.

The shell runs the hooks, and event states are on disk. `AgentEnvironment.turn` waits
for what a hook or an approval reports, never for time to pass.
"""

import json
import logging
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from os import urandom
from pathlib import Path
from typing import TypeAlias

from tests.agent.support.events import NOON, an_event
from tests.agent.support.full_disk import LimitedDisk
from tests.agent.support.hook_builders import LONG, ON_AND_ON, ReadyPipe

from forewarn.agent.agent import Agent, Message
from forewarn.agent.audit.log import AuditLog
from forewarn.agent.config.plan import (
    ApprovalPolicy,
    Hook,
    HookPoint,
    Plan,
    Rule,
    SharedApproval,
)
from forewarn.agent.events.state import NO_IMPACT, EventState, Impact
from forewarn.agent.hooks.executor import Executor
from forewarn.agent.identity import VmIdentity
from forewarn.agent.poller import ReadFailed
from forewarn.agent.storage.memory import StateMemory
from forewarn.agent.storage.store import Disk, StateStore
from forewarn.agent.telemetry.impact import AliveFile, ClockReading, FreezeDetector
from forewarn.agent.telemetry.logs import Conditions
from forewarn.agent.telemetry.metrics import AgentMetrics
from forewarn.agent.telemetry.recorder import AgentRecorder
from forewarn.client.responses import Reading
from forewarn.client.service_clock import ClockEstimate, ServiceClock
from forewarn.errors import Unreachable
from forewarn.protocol.types import Document, EventStatus, ScheduledEvent

HOOKS: Mapping[HookPoint, tuple[str, ...]] = {
    HookPoint.PREPARE: ("drain",),
    HookPoint.STARTED: ("tell",),
    HookPoint.RECOVER: ("fill",),
    HookPoint.UNDO: ("resume",),
}


def a_document_read(
    *events: ScheduledEvent,
    at: datetime = NOON,
    rate: float = 0.0,
    is_blank: bool = False,
) -> Reading:
    """Build a document read at `at` by the service's clock, which stands still."""
    return Reading(
        document=Document(incarnation=7, events=events),
        tag='"7"',
        is_held=False,
        is_blank=is_blank,
        reckoning=ClockEstimate(date=at, at=time.monotonic(), rate=rate),
    )


BLANK = a_document_read(is_blank=True)
ENDPOINT = "http://127.0.0.1:1"
AWAY = ReadFailed(error=Unreachable("nobody is there"))
STARTED = an_event(status=EventStatus.STARTED)


def endless_hook(ready_pipe: ReadyPipe) -> str:
    """Return a hook that reports that it is up and does not end on its own."""
    return f"echo up > {ready_pipe.path}; {ON_AND_ON}"


class Approver:
    """A service that records approvals, after raising everything in `refusals`."""

    def __init__(self) -> None:
        self.approved: list[str] = []
        self.refusals: list[Exception] = []
        self.wait: Callable[[], None] = lambda: None  # before each response

    def approve(self, *events: str) -> None:
        self.wait()
        if self.refusals:
            raise self.refusals.pop(0)
        self.approved += events


class ManualClocks:
    """Both clocks of the machine, moved by the test."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def look(self) -> ClockReading:
        return ClockReading(monotonic=self.seconds, boottime=self.seconds)

    def wait(self, resting: threading.Event, _: float) -> bool:
        return resting.wait()


@dataclass(kw_only=True)
class AgentEnvironment:
    """An agent and everything observable about it."""

    folder: Path
    hooks: Mapping[str, str] = field(default_factory=dict)  # shell commands
    steps: Mapping[HookPoint, tuple[str, ...]] = field(default_factory=lambda: HOOKS)
    approve: ApprovalPolicy = ApprovalPolicy.AFTER_HOOKS
    together: SharedApproval = SharedApproval.LEADER
    ready: str | None = None
    is_dry: bool = False
    boot: str = "boot-1"
    impact: Impact = NO_IMPACT
    name: str | None = "web-0"
    hooks_at_once: int = 8

    def __post_init__(self) -> None:
        self.space = LimitedDisk()
        self.approver = Approver()
        self.clocks = ManualClocks()
        self.metrics = AgentMetrics()
        self.conditions = Conditions(logging.getLogger("tests.agent"))
        self._store = StateStore(self.folder, Disk(write=self.space.write))
        self._store.open()
        clock = ServiceClock()
        self._freeze_detector = FreezeDetector(
            AliveFile(self.folder / "alive"), self.clocks.look, self.clocks.wait
        )
        self.recorder = AgentRecorder(
            audit=AuditLog(self.folder / "audit.jsonl"),
            metrics=self.metrics,
            conditions=self.conditions,
            clock=clock,
            endpoint=lambda: ENDPOINT,
            blind_after=30.0,
            monotonic=lambda: self.clocks.seconds,
        )
        self.memory = StateMemory(self._store, self.recorder.save_result)
        self.memory.load()
        self.agent = Agent(
            self.plan,
            identity=VmIdentity(explicit=self.name, host_name="web-0"),
            clock=clock,
            states=self.memory,
            recorder=self.recorder,
            freeze_detector=self._freeze_detector,
            heartbeat=lambda: LONG,
            boot=self.boot,
            impact=self.impact,
            token=lambda: urandom(12).hex(),
            is_dry=self.is_dry,
        )
        self.executor = Executor(
            self.plan,
            self.approver.approve,
            clock,
            self.agent.inbox.put,
            endpoint=lambda: ENDPOINT,
        )

    @property
    def plan(self) -> Plan:
        """Return the agent's plan: one rule for all events of this VM."""
        names = {*sum(self.steps.values(), ()), self.ready or "drain"}
        texts = {name: self.hooks.get(name, "exit 0") for name in names}
        return Plan(
            state=self.folder,
            name=self.name,
            ready_every=0.0,
            hooks_at_once=self.hooks_at_once,
            hooks={
                name: Hook(name=name, command=("/bin/sh", "-c", text))
                for name, text in texts.items()
            },
            rules=(
                Rule(
                    name="all",
                    hooks=self.steps,
                    approve=self.approve,
                    together=self.together,
                    ready=self.ready,
                ),
            ),
        )

    def turn(self, *items: Message) -> None:
        """Run one turn of the agent, with `items` or with what is reported next."""
        for item in items:
            self.agent.inbox.put(item)
        self.agent.turn(self.executor, 0.0 if items else LONG)

    def state(self, event: str = "E1") -> EventState:
        """Return the state of an event."""
        state = self.memory.find(event)
        assert state is not None
        return state

    def runs(self, event: str = "E1") -> Sequence[tuple[str, str, int]]:
        """Return the hooks of an event: name, outcome and number of starts."""
        return [(run.hook, run.outcome, run.times) for run in self.state(event).runs]

    def lines(self, what: str) -> Sequence[Mapping[str, object]]:
        """Return the audit entries of one kind."""
        text = (self.folder / "audit.jsonl").read_text()
        lines = [json.loads(line) for line in text.splitlines()]
        return [line for line in lines if line["what"] == what]

    def close(self) -> None:
        """Stop everything, as if the agent had died."""
        self._freeze_detector.stop()
        self.executor.stop()
        self._store.close()


Staging: TypeAlias = Callable[..., AgentEnvironment]
