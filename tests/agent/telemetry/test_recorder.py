"""Agent recorder: log lines, metrics and audit entries."""

import json
import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.agent.support.agent_loop import ManualClocks
from tests.agent.support.events import NOON, a_state

from forewarn import __version__
from forewarn.agent.audit.entries import CameBackEntry
from forewarn.agent.audit.log import AuditLog
from forewarn.agent.telemetry.logs import Conditions
from forewarn.agent.telemetry.metrics import AgentMetrics
from forewarn.agent.telemetry.recorder import AgentRecorder
from forewarn.client.responses import Reading
from forewarn.client.service_clock import ClockEstimate, ServiceClock
from forewarn.errors import Misunderstood, Refused, Unavailable, Unreachable
from forewarn.protocol.types import Document

Log = pytest.LogCaptureFixture

AWAY = Unreachable("nobody is there")
READ = Reading(document=Document(incarnation=7), tag=None, is_held=False)


@dataclass(kw_only=True)
class RecorderOutputs:
    """A recorder, and the places it writes to."""

    recorder: AgentRecorder
    metrics: AgentMetrics
    record: Path
    clocks: ManualClocks

    def whats(self) -> list[str]:
        """Return the kind of each audit entry."""
        lines = self.record.read_text().splitlines() if self.record.exists() else []
        return [json.loads(line)["what"] for line in lines]


def a_recorder(
    folder: Path, endpoint: Callable[[], str] = lambda: "http://127.0.0.1:1"
) -> RecorderOutputs:
    metrics, clock, clocks = AgentMetrics(), ServiceClock(), ManualClocks()
    clock.update(ClockEstimate(date=NOON, at=time.monotonic(), rate=0.0))
    record = folder / "audit.jsonl"
    recorder = AgentRecorder(
        audit=AuditLog(record),
        metrics=metrics,
        conditions=Conditions(logging.getLogger("forewarn.agent")),
        clock=clock,
        endpoint=endpoint,
        blind_after=30.0,
        monotonic=lambda: clocks.seconds,
    )
    return RecorderOutputs(
        recorder=recorder, metrics=metrics, record=record, clocks=clocks
    )


def warnings(log: Log) -> list[str]:
    return [
        record.getMessage() for record in log.records if record.levelname == "WARNING"
    ]


# --- endpoint ----------------------------------------------------------------


def test_a_new_endpoint_is_logged_and_in_the_metrics(
    tmp_path: Path, caplog: Log
) -> None:
    caplog.set_level(logging.INFO)
    endpoints = ["http://10.0.0.1"]
    outputs = a_recorder(tmp_path, lambda: endpoints[-1])
    outputs.recorder.name_learned("web-0")
    outputs.recorder.document_read(READ)
    outputs.recorder.document_read(READ)
    endpoints.append("http://10.0.0.2")
    outputs.recorder.document_read(READ)
    assert [line for line in caplog.messages if "reading documents" in line] == [
        "reading documents from http://10.0.0.1",
        "reading documents from http://10.0.0.2",
    ]
    labels = {"version": __version__, "name": "web-0", "endpoint": endpoints[-1]}
    assert outputs.metrics.value("info", **labels) == 1


# --- blindness ---------------------------------------------------------------


def test_being_blind_is_reported_once_until_a_document_is_read(
    tmp_path: Path, caplog: Log
) -> None:
    outputs = a_recorder(tmp_path)
    outputs.recorder.document_read(READ)
    outputs.clocks.seconds += 30
    assert outputs.recorder.check_blind() == 30
    outputs.clocks.seconds += 30
    outputs.recorder.check_blind()
    assert outputs.metrics.value("blind") == 1
    assert outputs.metrics.value("blind_seconds") == 60
    (warning,) = warnings(caplog)
    assert "no document for 30 s" in warning
    outputs.recorder.document_read(READ)
    assert outputs.metrics.value("blind") == 0
    assert outputs.metrics.value("blind_seconds") == 0
    assert outputs.whats() == ["blind", "sees-again"]


def test_the_alarm_is_not_raised_early(tmp_path: Path) -> None:
    outputs = a_recorder(tmp_path)
    outputs.clocks.seconds += 10
    outputs.recorder.document_read(READ)
    outputs.recorder.read_failed(AWAY)
    outputs.clocks.seconds += 29
    assert outputs.recorder.check_blind() == 1
    assert outputs.metrics.value("blind") == 0


def test_the_first_response_may_take_two_minutes(tmp_path: Path) -> None:
    outputs = a_recorder(tmp_path)
    outputs.clocks.seconds += 120
    assert outputs.recorder.check_blind() == 10
    assert outputs.metrics.value("blind") == 0
    outputs.clocks.seconds += 10
    outputs.recorder.check_blind()
    assert outputs.metrics.value("blind") == 1


def test_a_failure_at_the_start_ends_the_two_minutes(tmp_path: Path) -> None:
    outputs = a_recorder(tmp_path)
    outputs.recorder.read_failed(AWAY)
    outputs.clocks.seconds += 30
    outputs.recorder.check_blind()
    assert outputs.metrics.value("blind") == 1


# --- reading -----------------------------------------------------------------


def test_each_kind_of_read_failure_is_logged_once(tmp_path: Path, caplog: Log) -> None:
    outputs = a_recorder(tmp_path)
    for error in (
        AWAY,
        AWAY,
        Refused("busy", status=429),
        Refused("down", status=503),
        Refused("down", status=503),
        Misunderstood("that is HTML"),
    ):
        outputs.recorder.read_failed(error)
    assert warnings(caplog) == [
        "cannot read the document: nobody is there",
        "cannot read the document: busy",
        "cannot read the document: down",
        "cannot read the document: that is HTML",
    ]
    assert outputs.metrics.value("readings_total", result="failed") == 6


def test_reads_are_counted_by_result(tmp_path: Path, caplog: Log) -> None:
    caplog.set_level(logging.INFO)
    outputs = a_recorder(tmp_path)
    same = Reading(document=None, tag='"7"', is_held=False)
    blank = Reading(
        document=Document(incarnation=0), tag=None, is_held=False, is_blank=True
    )
    for reading in (READ, same, same, blank):
        outputs.recorder.document_read(reading)
    count = {
        result: outputs.metrics.value("readings_total", result=result)
        for result in ("document", "unchanged", "blank", "failed")
    }
    assert count == {"document": 1, "unchanged": 2, "blank": 1, "failed": 0}
    assert outputs.metrics.value("last_document_timestamp_seconds") == NOON.timestamp()
    assert caplog.text.count("reading documents from http://127.0.0.1:1") == 1


def test_the_incarnation_is_exported(tmp_path: Path) -> None:
    outputs = a_recorder(tmp_path)
    outputs.recorder.document_read(READ)
    assert outputs.metrics.value("document_incarnation") == 7


# --- writing -----------------------------------------------------------------


def test_an_unwritable_audit_log_is_reported_once(tmp_path: Path, caplog: Log) -> None:
    caplog.set_level(logging.INFO)
    outputs = a_recorder(tmp_path)
    state, came_back = a_state(), CameBackEntry(at=NOON, event="E1")
    outputs.record.mkdir()
    for _ in range(2):
        outputs.recorder.write([came_back], lambda _: state)
    assert outputs.metrics.value("state_errors_total") == 2
    assert len(warnings(caplog)) == 1
    outputs.record.rmdir()
    outputs.recorder.write([came_back], lambda _: state)
    assert outputs.whats() == ["came-back"]
    assert "can write the audit log again" in caplog.text


def test_a_disk_failure_and_its_end_are_logged_once(
    tmp_path: Path, caplog: Log
) -> None:
    caplog.set_level(logging.INFO)
    outputs = a_recorder(tmp_path)
    for _ in range(2):
        outputs.recorder.save_result(Unavailable("no space left"))
    outputs.recorder.save_result(None)
    assert warnings(caplog) == ["no space left"]
    assert caplog.messages[-1] == "can save the agent's state again"
    assert outputs.metrics.value("state_errors_total") == 2


def test_a_name_mismatch_is_logged_and_recorded_once(
    tmp_path: Path, caplog: Log
) -> None:
    outputs = a_recorder(tmp_path)
    for trouble in (None, "it is called db-0", "it is called db-0", None):
        outputs.recorder.name_checked(trouble)
    assert warnings(caplog) == ["it is called db-0"]
    assert outputs.whats() == ["name-mismatch", "name-mismatch"]
    assert outputs.metrics.value("name_mismatch") == 0
