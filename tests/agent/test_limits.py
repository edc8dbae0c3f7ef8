"""Agent loop: how much of the VM a document can use at most."""

import os
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from tests.agent.support.agent_loop import AgentEnvironment, Staging, a_document_read
from tests.agent.support.events import MINUTE, NOON, an_event
from tests.agent.support.hook_builders import LONG, ON_AND_ON

from forewarn.agent import main as agent_main
from forewarn.agent.agent import Agent
from forewarn.agent.config.plan import ApprovalPolicy, HookPoint, Plan, SharedApproval
from forewarn.agent.events import observation
from forewarn.agent.events.observation import MOST_EVENTS
from forewarn.agent.storage.memory import MOST_COMPLETED
from forewarn.client.client import Client
from forewarn.errors import Unreachable
from forewarn.protocol.types import EventStatus, ScheduledEvent


def many(
    number: int, prefix: str = "X", status: EventStatus = EventStatus.SCHEDULED
) -> list[ScheduledEvent]:
    return [an_event(f"{prefix}{n:04}", status=status) for n in range(number)]


def files_of(agent: AgentEnvironment) -> int:
    return len(os.listdir(agent.folder / "events"))


def test_a_document_with_1200_events_starts_a_limited_number_of_hooks(
    agent_factory: Staging, caplog: pytest.LogCaptureFixture
) -> None:
    agent = agent_factory(hooks={"drain": ON_AND_ON})
    threads = threading.active_count()
    agent.turn(a_document_read(*many(1200)))
    agent.turn(a_document_read(*many(1200)))
    assert agent.executor.running_count == 8
    assert threading.active_count() <= threads + 8 + 1  # and the freeze detector
    assert files_of(agent) <= 2 * MOST_EVENTS
    assert agent.metrics.value("hook_waiting") == MOST_EVENTS - 8
    assert agent.metrics.value("events_ignored") == 1200 - MOST_EVENTS
    messages = [record.getMessage() for record in caplog.records]
    assert len([text for text in messages if "hooks_at_once is 8" in text]) == 1
    assert len([text for text in messages if "ignoring 944 events" in text]) == 1


def test_new_ids_in_every_document_leave_a_limited_number_of_files(
    agent_factory: Staging,
) -> None:
    agent = agent_factory(hooks={"drain": ON_AND_ON})
    for number in range(4):
        agent.turn(a_document_read(*many(400, f"{number}-")))
        assert agent.executor.running_count <= 8
    assert len(agent.memory.by_id) <= 2 * MOST_EVENTS + MOST_COMPLETED
    assert files_of(agent) <= 2 * len(agent.memory.by_id)


def test_events_that_wait_for_their_hooks_after_their_end_count(
    agent_factory: Staging, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observation, "MOST_EVENTS", 20)
    steps = {HookPoint.RECOVER: ("fill",)}
    agent = agent_factory(hooks={"fill": ON_AND_ON}, steps=steps)
    for number in range(5):
        events = many(20, f"{number}-", status=EventStatus.STARTED)
        agent.turn(a_document_read(*events))
    assert len(agent.memory.unfinished()) <= 2 * 20


def test_ignored_events_are_tracked_when_there_is_room_although_nothing_changed(
    agent_factory: Staging, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(observation, "MOST_EVENTS", 1)
    agent = agent_factory(steps={}, approve=ApprovalPolicy.AT_ONCE)
    agent.turn(a_document_read(an_event("OLD")))
    agent.turn(a_document_read(an_event("NEW")))
    assert agent.metrics.value("events_ignored") == 1
    agent.turn(replace(a_document_read(), document=None))
    assert agent.metrics.value("events_ignored") == 0
    assert agent.state("NEW").posted_at is not None


def test_events_that_nearer_ones_displace_leave_no_state(
    agent_factory: Staging,
) -> None:
    agent = agent_factory(hooks={"drain": ON_AND_ON}, hooks_at_once=1)
    far = [
        an_event(f"FAR{n:03}", not_before=NOON + 60 * MINUTE)
        for n in range(MOST_EVENTS)
    ]
    agent.turn(a_document_read(*far))
    assert len(agent.memory.by_id) == MOST_EVENTS
    agent.turn(a_document_read(*far, *many(MOST_EVENTS)))
    assert len(agent.memory.by_id) == MOST_EVENTS
    assert files_of(agent) <= 2 * MOST_EVENTS


def test_a_readiness_check_waits_for_a_slot(agent_factory: Staging) -> None:
    agent = agent_factory(
        hooks={"all": ON_AND_ON},
        steps={},
        together=SharedApproval.WHEN_READY,
        ready="all",
        hooks_at_once=1,
    )
    events = [an_event(f"E{n}", resources=("web-0", "web-1")) for n in range(3)]
    threads = threading.active_count()
    agent.turn(a_document_read(*events))
    assert agent.executor.free_slots == 0
    assert threading.active_count() <= threads + 1 + 1  # and the freeze detector


def test_a_hook_that_waited_starts_when_another_ends_nearest_event_first(
    agent_factory: Staging,
) -> None:
    agent = agent_factory(hooks_at_once=1)
    near, far = an_event("NEAR"), an_event("FAR", not_before=NOON + 60 * MINUTE)
    agent.turn(a_document_read(far, near))
    assert (agent.runs("NEAR"), agent.runs("FAR")) == ([("drain", "running", 1)], [])
    assert "its hooks are waiting" in str(agent.lines("not-approved")[0]["reason"])
    while not agent.runs("FAR"):
        agent.turn()
    assert agent.runs("NEAR") == [("drain", "done", 1)]
    assert agent.metrics.value("hook_waiting") == 0


def test_a_limited_number_of_approvals_is_sent_at_a_time(
    agent_factory: Staging,
) -> None:
    agent = agent_factory(steps={}, approve=ApprovalPolicy.AT_ONCE)
    sending, go_on = threading.Semaphore(0), threading.Event()

    def wait() -> None:
        sending.release()
        go_on.wait(LONG)

    agent.approver.wait = wait
    threads = threading.active_count()
    agent.turn(a_document_read(*many(40)))
    for _ in range(4):
        assert sending.acquire(timeout=LONG)
    assert not agent.executor.can_approve
    assert threading.active_count() <= threads + 4 + 1  # and the freeze detector
    go_on.set()
    while len(agent.approver.approved) < 40:
        agent.turn()
    assert sorted(agent.approver.approved) == [event.id for event in many(40)]


def test_an_approval_that_fails_after_the_end_of_its_event_leaves_nothing_behind(
    agent_factory: Staging,
) -> None:
    agent = agent_factory(steps={}, approve=ApprovalPolicy.AT_ONCE)
    go_on = threading.Event()

    def wait() -> None:
        go_on.wait(LONG)

    agent.approver.wait = wait
    agent.approver.refusals = [Unreachable("too late")]
    agent.turn(a_document_read(an_event("E1")))
    agent.turn(a_document_read())
    assert agent.state("E1").over_at is not None
    go_on.set()
    agent.turn()
    assert [line["reason"] for line in agent.lines("approval-failed")] == ["too late"]
    assert not agent.agent._hold_reasons


def test_the_poller_waits_until_its_last_document_is_processed(
    agent_factory: Staging,
) -> None:
    agent = agent_factory()
    delivered = threading.Semaphore(0)

    def poll() -> None:
        for _ in range(3):
            agent.agent.deliver_poll(a_document_read())
            delivered.release()

    threading.Thread(target=poll, daemon=True).start()
    for _ in range(3):
        assert delivered.acquire(timeout=LONG)
        assert agent.agent.inbox.qsize() <= 1
        agent.turn()


def test_the_poller_of_a_running_agent_waits_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    delivers: list[object] = []

    class IdlePoller:
        def __init__(self, plan: Plan, source: Client, deliver: object) -> None:
            delivers.append(deliver)

        def run(self) -> None:
            """Deliver nothing."""

        stop = run

    monkeypatch.setattr(agent_main, "DocumentPoller", IdlePoller)
    agents: list[Agent] = []
    monkeypatch.setattr(Agent, "run", lambda agent, _: agents.append(agent))
    plan = Plan(state=tmp_path / "state", endpoint="http://127.0.0.1:1", name="web-0")
    agent_main.run_agent(plan, is_dry=False)
    assert delivers == [agents[0].deliver_poll]
