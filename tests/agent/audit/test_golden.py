"""Audit log with every kind of entry: its bytes, log messages and reports.

`tests/golden/agent` was written by commit 4f539aa. Since then, texts were reworded, and
the entries of one turn begin with the most urgent event, which has moved one line.
"""

import logging
from dataclasses import replace
from pathlib import Path
from typing import get_args

import pytest
from tests.agent.support.agent_loop import AgentEnvironment, Staging, a_document_read
from tests.agent.support.events import MINUTE, SECOND
from tests.agent.support.stored_states import ID, NOON, read, shown

from forewarn.agent import main as agent_main
from forewarn.agent.agent import Agent
from forewarn.agent.audit.entries import AuditEntry, read_entry
from forewarn.agent.audit.log import AuditLogReader
from forewarn.agent.events.state import Impact
from forewarn.cli.main import main
from forewarn.client.service_clock import ServiceClock
from forewarn.errors import Refused
from forewarn.protocol.types import ScheduledEvent

GOLDEN = Path(__file__).parents[2] / "golden" / "agent"

#: Fails for a Redeploy.
DRAIN = 'echo draining; echo "no such node"; [ "$FOREWARN_EVENT_TYPE" != Redeploy ]'


def an_event(event_id: str = ID, **more: object) -> ScheduledEvent:
    about = {"EventSource": "Platform", "Description": "Host: \u00e9\n", **more}
    return read(shown(EventId=event_id, DurationInSeconds=9, **about))


def a_started_event(event_id: str = ID, **more: object) -> ScheduledEvent:
    return an_event(event_id, EventStatus="Started", NotBefore="", **more)


def test_entries_have_the_same_bytes_and_log_messages(
    agent_factory: Staging,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caplog.set_level(logging.INFO)
    reboot(agent_factory)
    agent = fail(agent_factory)
    lose_sight(agent)
    restart(agent, monkeypatch)
    agent = agent_factory(boot="boot-2")
    agent.turn(a_document_read(a_started_event("E2"), at=NOON + 6 * MINUTE))
    agent.turn()  # resume has ended
    messages = [
        f"{record.levelname} {record.getMessage()!r}\n"
        for record in caplog.records
        if hasattr(record, "event")
    ]
    written = (tmp_path / "audit.jsonl").read_bytes()
    expected = (GOLDEN / "audit.jsonl").read_bytes()
    assert written.replace(str(tmp_path).encode(), b"/state") == expected
    assert "".join(messages) == (GOLDEN / "log.txt").read_text()


def reboot(agent_factory: Staging) -> None:
    """Follow a reboot to its end, with an agent that dies and is started again."""
    agent = agent_factory(hooks={"drain": "sleep 600"})
    agent.turn(a_document_read(an_event(), at=NOON))
    agent = agent_factory(hooks={"drain": DRAIN})
    agent.turn(a_document_read(an_event(), at=NOON + SECOND))
    agent.turn()  # drain has ended
    agent.turn()  # the approval is accepted
    agent.turn(a_document_read(a_started_event(), at=NOON + MINUTE))
    agent.turn()
    agent = agent_factory(boot="boot-2", impact=Impact(seconds=48.1236, total=50))
    agent.turn(a_document_read(at=NOON + 2 * MINUTE))
    agent.turn()


def fail(agent_factory: Staging) -> AgentEnvironment:
    """Follow an event of others, a failed approval and a failed hook."""
    agent = agent_factory(hooks={"drain": DRAIN}, boot="boot-2")
    agent.approver.refusals = [Refused("unknown event", status=400)]
    at, others = NOON + 3 * MINUTE, {"Resources": ["web-9"]}
    agent.turn(a_document_read(an_event("E4", **others), at=at))
    agent.turn(a_document_read(an_event("E4", **others), an_event("E2"), at=at))
    agent.turn()  # drain has ended
    agent.turn()  # the approval is rejected
    agent.turn(a_document_read(a_started_event("E4", **others), at=at + MINUTE))
    agent.turn()  # resume has ended
    failing = an_event("E3", Resources=["web-1", "web-0"], EventType="Redeploy")
    agent.turn(a_document_read(failing, at=at + 2 * MINUTE))
    agent.turn()  # drain has failed
    return agent


def lose_sight(agent: AgentEnvironment) -> None:
    agent.clocks.seconds += 30.25
    agent.recorder.check_blind()
    agent.turn(a_document_read(at=NOON + 5 * MINUTE, is_blank=True))
    agent.recorder.name_checked("it is called db-0")
    agent.recorder.name_checked(None)


def restart(agent: AgentEnvironment, monkeypatch: pytest.MonkeyPatch) -> None:
    agent.close()
    (agent.folder / "events" / "E5.json").write_text("{")
    plan = replace(agent.plan, endpoint="http://127.0.0.1:1")
    with monkeypatch.context() as patch:
        patch.setattr(agent_main, "__version__", "0.1.0")
        patch.setattr(Agent, "run", lambda *_: None)
        patch.setattr(ServiceClock, "now", lambda _: NOON + 5 * MINUTE)
        agent_main.run_agent(plan, is_dry=False)


def test_every_kind_is_in_the_golden_log() -> None:
    entries = map(read_entry, AuditLogReader(GOLDEN / "audit.jsonl"))
    assert {type(entry) for entry in entries} == {*get_args(AuditEntry)}


def test_reports_are_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    events = ((), (ID,), ("E2",), ("E3",), ("E4",))
    for words in (*events, ("--json",), ("E3", "--json")):
        assert main(["agent", "report", *words, "--state", str(GOLDEN)]) == 0
    assert capsys.readouterr().out == (GOLDEN / "reports.txt").read_text()
