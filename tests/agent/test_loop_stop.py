"""Agent loop, turn by turn: stopping, restarting and finishing an event."""

import os
import shutil
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.agent.support.agent_loop import (
    AWAY,
    STARTED,
    AgentEnvironment,
    Staging,
    a_document_read,
    endless_hook,
)
from tests.agent.support.events import MINUTE, NOON, an_event
from tests.agent.support.hook_builders import ReadyPipe

from forewarn.agent.agent import Stop
from forewarn.agent.config.plan import ApprovalPolicy, HookPoint, SharedApproval
from forewarn.agent.events.state import HookOutcome, LastStatus
from forewarn.agent.hooks.executor import HookEnded
from forewarn.agent.poller import NameLearned
from forewarn.agent.storage.store import StateStore
from forewarn.errors import Refused


def draining(
    agent_factory: Staging, ready_pipe: ReadyPipe, **event: Any
) -> AgentEnvironment:
    """Return an agent with an event whose hook `drain` is running."""
    agent = agent_factory(hooks={"drain": endless_hook(ready_pipe)})
    agent.turn(a_document_read(an_event(**event)))
    ready_pipe.read()
    return agent


def test_a_hook_cut_by_stopping_is_run_again(
    agent_factory: Staging, ready_pipe: ReadyPipe
) -> None:
    before = draining(agent_factory, ready_pipe)
    before.turn(Stop())
    before.executor.stop()
    before.turn()
    assert before.runs() == [("drain", "running", 1)]
    agent = agent_factory()
    agent.turn(a_document_read(an_event()))
    agent.turn()
    assert agent.runs() == [("drain", "done", 2)]


def test_an_agent_ends_when_another_one_uses_its_replaced_folder(
    agent_factory: Staging, tmp_path: Path
) -> None:
    agent = agent_factory(folder=tmp_path / "state")
    shutil.rmtree(agent.folder)
    other = StateStore(agent.folder)
    other.open()
    agent.turn(a_document_read(an_event()))
    assert agent.executor.running_count == 0
    agent.agent.run(agent.executor)
    assert sorted(os.listdir(agent.folder)) == ["events", "lock"]
    other.close()


def test_hooks_still_run_if_the_folder_is_only_removed(
    agent_factory: Staging, tmp_path: Path
) -> None:
    agent = agent_factory(folder=tmp_path / "state")
    shutil.rmtree(agent.folder)
    agent.turn(a_document_read(an_event()))
    agent.turn()
    assert agent.runs() == [("drain", "done", 1)]
    assert agent.approver.approved == []


@pytest.mark.parametrize(
    ("ended", "kept"), [(HookOutcome.DONE, "done"), (HookOutcome.FAILED, "running")]
)
def test_of_hooks_that_end_during_a_stop_only_success_is_saved(
    agent_factory: Staging, ready_pipe: ReadyPipe, ended: HookOutcome, kept: str
) -> None:
    agent = draining(agent_factory, ready_pipe)
    run = replace(agent.state().runs[0], outcome=ended, ended_at=NOON)
    agent.turn(Stop())
    agent.executor.stop()
    agent.turn(HookEnded(event="E1", run=run))
    assert agent.runs() == [("drain", kept, 1)]
    assert agent.approver.approved == []


def test_preparation_continues_even_if_no_document_can_be_read(
    agent_factory: Staging, ready_pipe: ReadyPipe
) -> None:
    draining(agent_factory, ready_pipe, not_before=NOON.replace(year=9000))
    agent = agent_factory()
    agent.turn(AWAY)
    agent.turn()
    assert agent.runs() == [("drain", "done", 2)]


def test_nothing_starts_before_the_service_s_clock_is_known(
    agent_factory: Staging, ready_pipe: ReadyPipe
) -> None:
    draining(agent_factory, ready_pipe)
    agent = agent_factory()  # its own clock is months ahead of the service's
    agent.turn(NameLearned(name="web-0"))
    agent.turn(a_document_read(an_event()))
    agent.turn()
    assert agent.runs() == [("drain", "done", 2)]


def test_after_a_reboot_of_the_vm_it_waits_for_a_document(
    agent_factory: Staging, ready_pipe: ReadyPipe
) -> None:
    draining(agent_factory, ready_pipe)
    agent = agent_factory(boot="boot-2")
    agent.turn(AWAY)
    assert agent.runs() == [("drain", "running", 1)]
    agent.turn(a_document_read(at=NOON + 16 * MINUTE))
    while agent.state().over_at is None:
        agent.turn()
    assert agent.runs() == [("drain", "cut", 1), ("fill", "done", 1)]


def test_for_a_started_event_it_waits_for_a_document_after_a_restart(
    agent_factory: Staging, ready_pipe: ReadyPipe
) -> None:
    before = agent_factory(hooks={"tell": endless_hook(ready_pipe)})
    before.turn(a_document_read(an_event()))
    before.turn()
    before.turn()
    before.turn(a_document_read(STARTED, at=NOON + 15 * MINUTE))
    ready_pipe.read()
    agent = agent_factory()
    agent.turn(AWAY)
    assert agent.runs() == [("drain", "done", 1), ("tell", "running", 1)]


def test_a_readiness_check_cut_by_stopping_records_nothing(
    agent_factory: Staging, ready_pipe: ReadyPipe
) -> None:
    agent = agent_factory(
        together=SharedApproval.WHEN_READY,
        ready="all",
        hooks={"all": endless_hook(ready_pipe)},
    )
    agent.turn(a_document_read(an_event()))
    agent.turn()
    ready_pipe.read()
    agent.turn(Stop())
    agent.executor.stop()
    agent.turn()
    assert agent.lines("not-approved") == []


def test_a_start_cuts_the_preparation_and_runs_its_own_hook(
    agent_factory: Staging, ready_pipe: ReadyPipe
) -> None:
    agent = draining(agent_factory, ready_pipe)
    agent.turn(a_document_read(STARTED, at=NOON + 15 * MINUTE))
    agent.turn()
    agent.turn()
    assert agent.runs() == [("drain", "cut", 1), ("tell", "done", 1)]


def test_an_event_is_over_when_its_last_hook_has_ended(agent_factory: Staging) -> None:
    agent = agent_factory(
        steps={HookPoint.UNDO: ("resume",)}, approve=ApprovalPolicy.NEVER
    )
    agent.turn(a_document_read(an_event()))
    agent.turn(a_document_read(at=NOON + MINUTE))
    assert agent.state().over_at is None
    agent.turn()
    assert agent.state().over_at is not None
    assert [line["outcome"] for line in agent.lines("over")] == [
        "the event was canceled"
    ]


def test_an_event_announced_again_is_prepared_and_approved_again(
    agent_factory: Staging,
) -> None:
    agent = agent_factory()
    agent.turn(a_document_read(an_event()))
    agent.turn()
    agent.turn()
    agent.turn(a_document_read(at=NOON + MINUTE))
    while agent.state().over_at is None:
        agent.turn()
    agent.turn(a_document_read(an_event(), at=NOON + 2 * MINUTE))
    agent.turn()
    agent.turn()
    assert agent.approver.approved == ["E1", "E1"]
    assert len(agent.lines("came-back")) == 1


def test_an_event_announced_again_does_not_wait_for_the_earlier_approval(
    agent_factory: Staging, ready_pipe: ReadyPipe
) -> None:
    agent = agent_factory(hooks={"resume": endless_hook(ready_pipe)})
    agent.approver.refusals = [Refused("no such event", status=400)]
    agent.turn(a_document_read(an_event()))
    agent.turn()
    agent.turn()
    agent.turn(a_document_read(at=NOON + MINUTE))
    ready_pipe.read()
    agent.turn(a_document_read(an_event(), at=NOON + 2 * MINUTE))  # resume is cut
    agent.turn()
    agent.turn()
    agent.turn()
    assert agent.approver.approved == ["E1"]


def test_an_event_announced_again_that_fails_again_is_recorded_again(
    agent_factory: Staging,
) -> None:
    agent = agent_factory(
        hooks={"drain": "exit 3"}, steps={HookPoint.PREPARE: ("drain",)}
    )
    for minute in (0, 2):
        agent.turn(a_document_read(an_event(), at=NOON + minute * MINUTE))
        agent.turn()
        agent.turn(a_document_read(at=NOON + (minute + 1) * MINUTE))
    assert len(agent.lines("not-approved")) == 2


def test_an_event_finished_a_week_ago_is_forgotten(agent_factory: Staging) -> None:
    agent = agent_factory(steps={}, approve=ApprovalPolicy.NEVER)
    agent.turn(a_document_read(an_event()))
    agent.turn(a_document_read())
    agent.turn(a_document_read(at=NOON + timedelta(days=8)))
    assert agent.memory.find("E1") is None


def test_run_ends_after_a_stop(agent_factory: Staging) -> None:
    running = agent_factory()
    running.agent.inbox.put(a_document_read(an_event()))
    running.agent.inbox.put(Stop())
    running.agent.run(running.executor)
    assert running.state().seen is LastStatus.SCHEDULED
