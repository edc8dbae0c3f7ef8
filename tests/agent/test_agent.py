"""Agent loop: inputs and their effects."""

import logging
from pathlib import Path

import pytest
from tests.agent.support.events import NOON, an_event, counting

from forewarn.agent.agent import Agent
from forewarn.agent.audit.log import AuditLog
from forewarn.agent.config.plan import ApprovalPolicy, Plan, Rule
from forewarn.agent.events.state import NO_IMPACT
from forewarn.agent.hooks.executor import Executor
from forewarn.agent.identity import LocalVm
from forewarn.agent.poller import DocumentRead, NameLearned
from forewarn.agent.storage.memory import StateMemory
from forewarn.agent.storage.store import StateStore
from forewarn.agent.telemetry.impact import AliveFile, FreezeDetector
from forewarn.agent.telemetry.logs import Conditions
from forewarn.agent.telemetry.metrics import AgentMetrics
from forewarn.agent.telemetry.recorder import AgentRecorder
from forewarn.client.responses import Reading
from forewarn.client.service_clock import ServiceClock
from forewarn.protocol.types import Document


class ApprovingService:
    """A service that accepts every approval."""

    def approve(self, *events: str) -> None:
        """Accept the approval."""


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    rule = Rule(name="all", approve=ApprovalPolicy.NEVER)
    return Plan(state=tmp_path, rules=(rule,))


@pytest.fixture
def memory(plan: Plan) -> StateMemory:
    store = StateStore(plan.state)
    store.open()
    return StateMemory(store, lambda _: None)


@pytest.fixture
def agent(plan: Plan, memory: StateMemory) -> Agent:
    clock = ServiceClock()
    return Agent(
        plan,
        local_vm=LocalVm(plan, clock, "host"),
        clock=clock,
        states=memory,
        recorder=AgentRecorder(
            audit=AuditLog(plan.state / "audit.jsonl"),
            metrics=AgentMetrics(),
            conditions=Conditions(logging.getLogger("test")),
            clock=clock,
            endpoint="http://nowhere",
            blind_after=30.0,
        ),
        freeze_detector=FreezeDetector(AliveFile(plan.state / "alive")),
        heartbeat=lambda: 1.0,
        boot="boot-1",
        impact=NO_IMPACT,
        token=counting(),
    )


@pytest.fixture
def executor(plan: Plan, agent: Agent) -> Executor:
    return Executor(plan, ApprovingService(), ServiceClock(), agent.inbox.put)


def test_a_name_learned_late_applies_to_known_events(
    agent: Agent, executor: Executor, memory: StateMemory
) -> None:
    event = an_event(not_before=NOON.replace(year=2999))
    document = Document(incarnation=1, events=(event,))
    agent.inbox.put(NameLearned(name=None))
    agent.inbox.put(
        DocumentRead(reading=Reading(document=document, tag='"1"', is_held=True))
    )
    agent.turn(executor)
    (before,) = memory.by_id.values()
    agent.inbox.put(NameLearned(name="web-0"))
    agent.turn(executor)
    (after,) = memory.by_id.values()
    assert (before.is_mine, after.is_mine) == (False, True)
    assert after.course is not None
