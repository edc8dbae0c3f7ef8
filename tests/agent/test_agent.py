"""Agent loop: inputs and their effects."""

import logging
from pathlib import Path

import pytest
from tests.agent.lives import NOON, an_event, counting

from forewarn.agent.agent import Agent
from forewarn.agent.audit import Audit
from forewarn.agent.clock import ServiceClock
from forewarn.agent.eyes import Named, Saw
from forewarn.agent.hands import Hands
from forewarn.agent.impact import Alive, Pulse
from forewarn.agent.keeping import Keeping
from forewarn.agent.lives import UNTOUCHED
from forewarn.agent.logs import Conditions
from forewarn.agent.memory import Memory
from forewarn.agent.metrics import Metrics
from forewarn.agent.myself import Myself
from forewarn.agent.plan import Approve, Plan, Rule
from forewarn.agent.recording import Recording
from forewarn.client.reading import Reading
from forewarn.protocol.types import Document


class Willing:
    """A service that accepts every approval."""

    def approve(self, *events: str) -> None:
        """Accept the approval."""


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    rule = Rule(name="all", approve=Approve.NEVER)
    return Plan(state=tmp_path, rules=(rule,))


@pytest.fixture
def memory(plan: Plan) -> Memory:
    keeping = Keeping(plan.state)
    keeping.open()
    return Memory(keeping, lambda _: None)


@pytest.fixture
def agent(plan: Plan, memory: Memory) -> Agent:
    clock = ServiceClock()
    return Agent(
        plan,
        myself=Myself(plan, clock, "host"),
        clock=clock,
        memory=memory,
        recording=Recording(
            audit=Audit(plan.state / "audit.jsonl"),
            metrics=Metrics(),
            conditions=Conditions(logging.getLogger("test")),
            clock=clock,
            endpoint="http://nowhere",
            blind_after=30.0,
        ),
        pulse=Pulse(Alive(plan.state / "alive")),
        beat=lambda: 1.0,
        boot="boot-1",
        felt=UNTOUCHED,
        token=counting(),
    )


@pytest.fixture
def hands(plan: Plan, agent: Agent) -> Hands:
    return Hands(plan, Willing(), ServiceClock(), agent.inbox.put)


def test_a_name_learned_late_applies_to_known_events(
    agent: Agent, hands: Hands, memory: Memory
) -> None:
    event = an_event(not_before=NOON.replace(year=2999))
    document = Document(incarnation=1, events=(event,))
    agent.inbox.put(Named(name=None))
    agent.inbox.put(Saw(reading=Reading(document=document, tag='"1"', is_held=True)))
    agent.turn(hands)
    (before,) = memory.lives.values()
    agent.inbox.put(Named(name="web-0"))
    agent.turn(hands)
    (after,) = memory.lives.values()
    assert (before.is_mine, after.is_mine) == (False, True)
    assert after.course is not None
