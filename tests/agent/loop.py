"""Agent under test: everything is real except the service and the clocks.

The shell runs the hooks, and event states are on disk. `Stage.turn` waits for what a
hook or an approval reports, never for time to pass.
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

from tests.agent.hook_builders import LONG, ON_AND_ON, Word
from tests.agent.lives import NOON, an_event
from tests.agent.space import Space

from forewarn.agent.agent import Agent, Item
from forewarn.agent.audit import Audit
from forewarn.agent.clock import ServiceClock
from forewarn.agent.disk import Disk
from forewarn.agent.eyes import Lost, Saw
from forewarn.agent.hands import Hands
from forewarn.agent.impact import Alive, Pulse, Tick
from forewarn.agent.keeping import Keeping
from forewarn.agent.lives import UNTOUCHED, Impact, Life
from forewarn.agent.logs import Conditions
from forewarn.agent.memory import Memory
from forewarn.agent.metrics import Metrics
from forewarn.agent.myself import Myself
from forewarn.agent.plan import Approve, Hook, Plan, Rule, Step, Together
from forewarn.agent.recording import Recording
from forewarn.client.reading import Reading
from forewarn.client.reckoning import Reckoning
from forewarn.errors import Unreachable
from forewarn.protocol.types import Document, EventStatus, ScheduledEvent

HOOKS: Mapping[Step, tuple[str, ...]] = {
    Step.PREPARE: ("drain",),
    Step.STARTED: ("tell",),
    Step.RECOVER: ("fill",),
    Step.UNDO: ("resume",),
}


def seeing(
    *events: ScheduledEvent,
    at: datetime = NOON,
    rate: float = 0.0,
    is_blank: bool = False,
) -> Saw:
    """Build a document read at `at` by the service's clock, which stands still."""
    return Saw(
        reading=Reading(
            document=Document(incarnation=7, events=events),
            tag='"7"',
            is_held=False,
            is_blank=is_blank,
            reckoning=Reckoning(date=at, at=time.monotonic(), rate=rate),
        )
    )


BLANK = seeing(is_blank=True)
AWAY = Lost(error=Unreachable("nobody is there"))
STARTED = an_event(status=EventStatus.STARTED)


def going_on(word: Word) -> str:
    """Return a hook that reports that it is up and does not end on its own."""
    return f"echo up > {word.path}; {ON_AND_ON}"


class Approver:
    """A service that records approvals, after raising everything in `refusals`."""

    def __init__(self) -> None:
        self.approved: list[str] = []
        self.refusals: list[Exception] = []

    def approve(self, *events: str) -> None:
        if self.refusals:
            raise self.refusals.pop(0)
        self.approved += events


class Clocks:
    """Both clocks of the machine, moved by the test."""

    def __init__(self) -> None:
        self.seconds = 100.0

    def look(self) -> Tick:
        return Tick(monotonic=self.seconds, boottime=self.seconds)

    def wait(self, resting: threading.Event, _: float) -> bool:
        return resting.wait()


@dataclass(kw_only=True)
class Stage:
    """An agent and everything observable about it."""

    folder: Path
    hooks: Mapping[str, str] = field(default_factory=dict)  # shell commands
    steps: Mapping[Step, tuple[str, ...]] = field(default_factory=lambda: HOOKS)
    approve: Approve = Approve.AFTER_HOOKS
    together: Together = Together.LEADER
    ready: str | None = None
    is_dry: bool = False
    boot: str = "boot-1"
    felt: Impact = UNTOUCHED
    name: str | None = "web-0"

    def __post_init__(self) -> None:
        self.space = Space()
        self.approver = Approver()
        self.clocks = Clocks()
        self.metrics = Metrics()
        self.conditions = Conditions(logging.getLogger("tests.agent"))
        self._keeping = Keeping(self.folder, Disk(write=self.space.write))
        self._keeping.open()
        clock = ServiceClock()
        self._pulse = Pulse(
            Alive(self.folder / "alive"), self.clocks.look, self.clocks.wait
        )
        recording = Recording(
            audit=Audit(self.folder / "audit.jsonl"),
            metrics=self.metrics,
            conditions=self.conditions,
            clock=clock,
            endpoint="http://127.0.0.1:1",
            blind_after=30.0,
        )
        self.memory = Memory(self._keeping, recording.disk)
        self.memory.recall()
        self.agent = Agent(
            self.plan,
            myself=Myself(self.plan, clock, "web-0"),
            clock=clock,
            memory=self.memory,
            recording=recording,
            pulse=self._pulse,
            beat=lambda: LONG,
            boot=self.boot,
            felt=self.felt,
            token=lambda: urandom(12).hex(),
            is_dry=self.is_dry,
        )
        self.hands = Hands(self.plan, self.approver, clock, self.agent.inbox.put)

    @property
    def plan(self) -> Plan:
        """Return the agent's plan: one rule for all events of this VM."""
        names = {*sum(self.steps.values(), ()), self.ready or "drain"}
        texts = {name: self.hooks.get(name, "exit 0") for name in names}
        return Plan(
            state=self.folder,
            name=self.name,
            ready_every=0.0,
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

    def turn(self, *items: Item) -> None:
        """Run one turn of the agent, with `items` or with what is reported next."""
        for item in items:
            self.agent.inbox.put(item)
        self.agent.turn(self.hands, 0.0 if items else LONG)

    def life(self, event: str = "E1") -> Life:
        """Return the state of an event."""
        life = self.memory.find(event)
        assert life is not None
        return life

    def runs(self, event: str = "E1") -> Sequence[tuple[str, str, int]]:
        """Return the hooks of an event: name, outcome and number of starts."""
        return [(run.hook, run.outcome, run.times) for run in self.life(event).runs]

    def lines(self, what: str) -> Sequence[Mapping[str, object]]:
        """Return the audit entries of one kind."""
        text = (self.folder / "audit.jsonl").read_text()
        lines = [json.loads(line) for line in text.splitlines()]
        return [line for line in lines if line["what"] == what]

    def close(self) -> None:
        """Stop everything, as if the agent had died."""
        self._pulse.rest()
        self.hands.stop()
        self._keeping.close()


Staging: TypeAlias = Callable[..., Stage]
