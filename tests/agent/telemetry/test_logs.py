"""Agent logging: the format of log lines, and how often a condition is logged."""

import json
import logging
import os
import re
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from forewarn.agent.telemetry.logs import (
    LONGEST_MESSAGE,
    MOST_MESSAGES,
    Conditions,
    LogLimit,
)

LINES = """\
import logging, os, sys
from forewarn.agent.telemetry.logs import text_formatter
from forewarn.logs import log_to_stderr
if sys.argv[2] == "journal":
    about = os.fstat(2)
    os.environ["JOURNAL_STREAM"] = f"{about.st_dev}:{about.st_ino}"
log_to_stderr(sys.argv[1], "info", text_formatter())
log = logging.getLogger("forewarn.agent")
log.debug("a detail")
log.info("web-0 listens\\n<0>to evil")
log.warning("it is dark", extra={"condition": "blind"})
"""

TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z"


def logged(shape: str, where: str = "", **environment: str) -> list[str]:
    done = subprocess.run(
        [sys.executable, "-c", LINES, shape, where],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stderr.splitlines()


def test_a_text_line_has_a_time_and_a_level_and_is_one_line() -> None:
    first, second = logged("text")
    assert re.fullmatch(TIME + r" info    web-0 listens <0>to evil", first)
    assert re.fullmatch(TIME + r" warning it is dark", second)


def test_times_are_in_utc() -> None:
    first, _ = logged("text", TZ="UTC")
    second, _ = logged("text", TZ="ABC-12")
    passed = _moment(second) - _moment(first)
    assert timedelta() <= passed < timedelta(minutes=1)


def _moment(line: str) -> datetime:
    return datetime.fromisoformat(line.split()[0])


def test_a_json_line_is_an_object() -> None:
    first, second = map(json.loads, logged("json"))
    assert first.keys() == {"time", "level", "logger", "message"}
    assert re.fullmatch(TIME, first["time"])
    assert first["message"] == "web-0 listens\n<0>to evil"
    assert (second["level"], second["condition"]) == ("warning", "blind")


def test_journal_lines_have_a_priority_and_no_time() -> None:
    assert logged("text", "journal") == [
        "<6>info    web-0 listens <0>to evil",
        "<4>warning it is dark",
    ]


def test_a_journal_that_is_not_stderr_changes_nothing(tmp_path: Path) -> None:
    about = tmp_path.stat()
    elsewhere = f"{about.st_dev}:{about.st_ino}"
    first, _ = logged("text", JOURNAL_STREAM=elsewhere)
    assert re.match(TIME, first)


# --- conditions --------------------------------------------------------------


@pytest.fixture
def conditions(caplog: pytest.LogCaptureFixture) -> Conditions:
    caplog.set_level(logging.INFO)
    return Conditions(logging.getLogger("forewarn.agent"))


def test_a_condition_is_logged_when_it_begins_and_ends(
    conditions: Conditions, caplog: pytest.LogCaptureFixture
) -> None:
    news = [
        conditions.report("blind", is_there, sentence)
        for is_there, sentence in (
            (False, "no problem"),
            (True, "blind for 30 s"),
            (True, "blind for 31 s"),
            (False, "the agent is no longer blind"),
            (False, "the agent is no longer blind"),
            (True, "blind for 30 s"),
        )
    ]
    assert news == [False, True, False, True, False, True]
    assert [(record.levelname, record.message) for record in caplog.records] == [
        ("WARNING", "blind for 30 s"),
        ("INFO", "the agent is no longer blind"),
        ("WARNING", "blind for 30 s"),
    ]


def test_a_condition_of_another_kind_is_logged(
    conditions: Conditions, caplog: pytest.LogCaptureFixture
) -> None:
    for kind in ("html", "html", "silence", "html"):
        conditions.report("unreadable", True, f"it returned {kind}", kind=kind)
    assert [record.message for record in caplog.records] == [
        "it returned html",
        "it returned silence",
        "it returned html",
    ]


def test_conditions_are_independent(conditions: Conditions) -> None:
    assert conditions.report("blind", True, "sees nothing")
    assert conditions.report("state-unwritable", True, "no room")
    assert conditions.report("blind", False, "the agent is no longer blind")
    assert conditions.active() == {"state-unwritable": "no room"}


def test_the_last_message_of_a_condition_is_kept(conditions: Conditions) -> None:
    conditions.report("blind", True, "blind for 30 s")
    conditions.report("blind", True, "blind for 31 s")
    assert conditions.active() == {"blind": "blind for 31 s"}


def test_a_percent_sign_is_not_a_placeholder(
    conditions: Conditions, caplog: pytest.LogCaptureFixture
) -> None:
    conditions.report("full", True, "the disk is 100 %s full")
    assert [record.message for record in caplog.records] == ["the disk is 100 %s full"]


# --- limits ------------------------------------------------------------------


def test_only_so_many_messages_are_logged_in_a_period(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO)
    log, now = logging.getLogger("tests.log_limit"), [0.0]
    limit = LogLimit(log, monotonic=lambda: now[0])
    log.addFilter(limit)
    for number in range(3 * MOST_MESSAGES):
        log.info("%d", number)
    now[0] = 60.0
    log.info("calm")
    log.removeFilter(limit)
    messages = [record.getMessage() for record in caplog.records]
    assert messages[:MOST_MESSAGES] == [str(n) for n in range(MOST_MESSAGES)]
    assert messages[MOST_MESSAGES:] == [
        "more than 1000 log messages in 60 s; omitting further messages, but the"
        " audit log still records all events",
        f"omitted {2 * MOST_MESSAGES} log messages",
        "calm",
    ]


def test_a_long_message_is_shortened() -> None:
    record = logging.makeLogRecord({"msg": "%s", "args": ("x" * 256_000,)})
    assert LogLimit(logging.getLogger("tests.log_limit")).filter(record)
    end = "... (256000 characters)"
    assert record.getMessage() == "x" * LONGEST_MESSAGE + end
