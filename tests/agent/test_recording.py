"""What others learn of the agent."""

import json
import logging
import time
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.agent.lives import NOON, a_life, an_event
from tests.agent.loop import Clocks

from forewarn.agent.audit import Audit
from forewarn.agent.clock import ServiceClock
from forewarn.agent.logs import Conditions
from forewarn.agent.metrics import Metrics
from forewarn.agent.notes import note
from forewarn.agent.recording import Recording
from forewarn.client.reading import Reading
from forewarn.client.reckoning import Reckoning
from forewarn.errors import Misunderstood, Refused, Unavailable, Unreachable
from forewarn.protocol.types import Document

Log = pytest.LogCaptureFixture

AWAY = Unreachable("nobody is there")
READ = Reading(document=Document(incarnation=7), tag=None, is_held=False)


@dataclass(kw_only=True)
class Told:
    """A recording, and where it tells what it is told."""

    recording: Recording
    metrics: Metrics
    record: Path
    clocks: Clocks

    def whats(self) -> list[str]:
        """What the record has, line by line."""
        lines = self.record.read_text().splitlines() if self.record.exists() else []
        return [json.loads(line)["what"] for line in lines]


def telling(folder: Path) -> Told:
    metrics, clock, clocks = Metrics(), ServiceClock(), Clocks()
    clock.hear(Reckoning(date=NOON, at=time.monotonic(), rate=0.0))
    record = folder / "audit.jsonl"
    recording = Recording(
        audit=Audit(record),
        metrics=metrics,
        conditions=Conditions(logging.getLogger("forewarn.agent")),
        clock=clock,
        endpoint="http://127.0.0.1:1",
        blind_after=30.0,
        monotonic=lambda: clocks.seconds,
    )
    return Told(recording=recording, metrics=metrics, record=record, clocks=clocks)


def warnings(log: Log) -> list[str]:
    return [each.getMessage() for each in log.records if each.levelname == "WARNING"]


# --- being blind --------------------------------------------------------------


def test_being_blind_is_an_alarm_once_until_a_document_is_read(
    tmp_path: Path, caplog: Log
) -> None:
    told = telling(tmp_path)
    told.recording.saw(READ)
    told.clocks.seconds += 30
    assert told.recording.look_out() == 30
    told.clocks.seconds += 30
    told.recording.look_out()
    assert told.metrics.value("blind") == 1
    assert told.metrics.value("blind_seconds") == 60
    (warning,) = warnings(caplog)
    assert "no document could be read for 30 s" in warning
    told.recording.saw(READ)
    assert told.metrics.value("blind") == 0
    assert told.metrics.value("blind_seconds") == 0
    assert told.whats() == ["blind", "sees-again"]


def test_the_alarm_comes_when_its_time_has_and_not_before(tmp_path: Path) -> None:
    told = telling(tmp_path)
    told.clocks.seconds += 10
    told.recording.saw(READ)
    told.recording.lost(AWAY)
    told.clocks.seconds += 29
    assert told.recording.look_out() == 1
    assert told.metrics.value("blind") == 0


def test_the_first_answer_may_take_two_minutes(tmp_path: Path) -> None:
    told = telling(tmp_path)
    told.clocks.seconds += 120
    assert told.recording.look_out() == 10
    assert told.metrics.value("blind") == 0
    told.clocks.seconds += 10
    told.recording.look_out()
    assert told.metrics.value("blind") == 1


def test_who_is_told_no_at_first_does_not_wait_two_minutes(tmp_path: Path) -> None:
    told = telling(tmp_path)
    told.recording.lost(AWAY)
    told.clocks.seconds += 30
    told.recording.look_out()
    assert told.metrics.value("blind") == 1


# --- reading ------------------------------------------------------------------


def test_what_cannot_be_read_is_said_once_for_each_sort_of_trouble(
    tmp_path: Path, caplog: Log
) -> None:
    told = telling(tmp_path)
    for error in (
        AWAY,
        AWAY,
        Refused("busy", status=429),
        Refused("down", status=503),
        Refused("down", status=503),
        Misunderstood("that is HTML"),
    ):
        told.recording.lost(error)
    assert warnings(caplog) == [
        "no document: nobody is there",
        "no document: busy",
        "no document: down",
        "no document: that is HTML",
    ]
    assert told.metrics.value("readings_total", result="failed") == 6


def test_what_is_read_is_counted_by_what_it_told(tmp_path: Path, caplog: Log) -> None:
    caplog.set_level(logging.INFO)
    told = telling(tmp_path)
    same = Reading(document=None, tag='"7"', is_held=False)
    blank = Reading(
        document=Document(incarnation=0), tag=None, is_held=False, is_blank=True
    )
    for reading in (READ, same, same, blank):
        told.recording.saw(reading)
    count = {
        result: told.metrics.value("readings_total", result=result)
        for result in ("document", "unchanged", "blank", "failed")
    }
    assert count == {"document": 1, "unchanged": 2, "blank": 1, "failed": 0}
    assert told.metrics.value("last_document_timestamp_seconds") == NOON.timestamp()
    assert caplog.text.count("documents are read from http://127.0.0.1:1") == 1


def test_the_incarnation_is_told(tmp_path: Path) -> None:
    told = telling(tmp_path)
    told.recording.saw(READ)
    assert told.metrics.value("document_incarnation") == 7


# --- writing ------------------------------------------------------------------


def test_a_record_that_cannot_be_written_is_said_once_and_does_no_harm(
    tmp_path: Path, caplog: Log
) -> None:
    caplog.set_level(logging.INFO)
    told = telling(tmp_path)
    life = a_life()
    told.record.mkdir()
    for _ in range(2):
        told.recording.write([note("came-back", life, NOON)], lambda _: life)
    assert told.metrics.value("state_errors_total") == 2
    assert len(warnings(caplog)) == 1
    told.record.rmdir()
    told.recording.write([note("came-back", life, NOON)], lambda _: life)
    assert told.whats() == ["came-back"]
    assert "the audit record is written again" in caplog.text


def test_a_disk_that_takes_nothing_is_said_once_and_when_it_does_again(
    tmp_path: Path, caplog: Log
) -> None:
    caplog.set_level(logging.INFO)
    told = telling(tmp_path)
    for _ in range(2):
        told.recording.disk(Unavailable("no space left"))
    told.recording.disk(None)
    assert warnings(caplog) == ["no space left"]
    assert caplog.messages[-1] == "what the agent knows can be kept again"
    assert told.metrics.value("state_errors_total") == 2


def test_a_name_that_does_not_fit_is_said_and_written_down_once(
    tmp_path: Path, caplog: Log
) -> None:
    told = telling(tmp_path)
    for trouble in (None, "it is called db-0", "it is called db-0", None):
        told.recording.name_fits(trouble)
    assert warnings(caplog) == ["it is called db-0"]
    assert told.whats() == ["name-mismatch", "name-mismatch"]
    assert told.metrics.value("name_mismatch") == 0


def test_the_log_has_the_whole_id_of_an_event_once(tmp_path: Path, caplog: Log) -> None:
    caplog.set_level(logging.INFO)
    told = telling(tmp_path)
    life = a_life(event=an_event("459FFF1B-A750-4667"))
    notes = [note("seen", life, NOON), note("came-back", life, NOON)]
    told.recording.write(notes, lambda _: life)
    first, second = caplog.messages
    assert first.startswith("Reboot 459FFF1B-A750-4667: ")
    assert second.startswith("Reboot 459FFF1B: ")
