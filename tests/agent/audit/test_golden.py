"""Audit log with every kind of entry: its bytes, log messages and reports.

`tests/golden/agent` was written by commit 42a5637.
"""

import logging
from dataclasses import replace
from pathlib import Path

import pytest
from tests.agent.support.agent_loop import ManualClocks, Staging, a_document_read
from tests.agent.support.events import MINUTE, SECOND
from tests.agent.support.stored_states import ID, NOON, read, shown

from forewarn.agent import main as agent_main
from forewarn.agent.agent import Agent
from forewarn.agent.audit.log import AuditLog
from forewarn.agent.events.state import Impact
from forewarn.agent.telemetry.logs import Conditions
from forewarn.agent.telemetry.metrics import AgentMetrics
from forewarn.agent.telemetry.recorder import AgentRecorder
from forewarn.cli.main import main
from forewarn.client.responses import Reading
from forewarn.client.service_clock import ServiceClock
from forewarn.errors import Refused
from forewarn.protocol.types import Document, ScheduledEvent

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
    fail_and_return(agent_factory)
    restart_agent(agent_factory, monkeypatch)
    lose_sight(tmp_path)
    written = (tmp_path / "audit.jsonl").read_bytes()
    messages = [
        f"{record.levelname} {record.getMessage()!r}\n"
        for record in caplog.records
        if hasattr(record, "event")
    ]
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


def fail_and_return(agent_factory: Staging) -> None:
    """Follow an event of others, a failed approval, a failed hook and a return."""
    agent = agent_factory(hooks={"drain": DRAIN}, boot="boot-2")
    agent.approver.refusals = [Refused("that is no event", status=400)]
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
    agent.turn(a_document_read(failing, a_started_event("E2"), at=at + 3 * MINUTE))


def restart_agent(agent_factory: Staging, monkeypatch: pytest.MonkeyPatch) -> None:
    agent = agent_factory()
    agent.close()
    (agent.folder / "events" / "E5.json").write_text("{")
    monkeypatch.setattr(agent_main, "__version__", "0.1.0")
    monkeypatch.setattr(Agent, "run", lambda *_: None)
    monkeypatch.setattr(ServiceClock, "now", lambda _: NOON + 10 * MINUTE)
    plan = replace(agent.plan, endpoint="http://127.0.0.1:1")
    agent_main.run_agent(plan, is_dry=False)


def lose_sight(folder: Path) -> None:
    clocks = ManualClocks()
    recorder = AgentRecorder(
        audit=AuditLog(folder / "audit.jsonl"),
        metrics=AgentMetrics(),
        conditions=Conditions(logging.getLogger("tests.agent")),
        clock=ServiceClock(),
        endpoint="http://127.0.0.1:1",
        blind_after=30.0,
        monotonic=lambda: clocks.seconds,
    )
    recorder.read_failed(Refused("busy", status=429))
    clocks.seconds += 30.25
    recorder.check_blind()
    document = Document(incarnation=7)
    recorder.document_read(Reading(document=document, tag=None, is_held=False))
    recorder.name_checked("it is called db-0")
    recorder.name_checked(None)


def test_reports_are_the_same(capsys: pytest.CaptureFixture[str]) -> None:
    events = ((), (ID,), ("E2",), ("E3",), ("E4",))
    for words in (*events, ("--json",), ("E3", "--json")):
        assert main(["agent", "report", *words, "--state", str(GOLDEN)]) == 0
    assert capsys.readouterr().out == (GOLDEN / "reports.txt").read_text()
