"""Log lines of the service."""

import json
import logging
import sys
from threading import Event

import pytest
from tests.patience import PATIENCE

from forewarn.logs import BackgroundHandler, CleanFormatter, log_to_stderr


def test_messages_and_tracebacks_hold_no_control_characters() -> None:
    try:
        raise ValueError("so\x1b[2J\u202e")
    except ValueError:
        error = sys.exc_info()
    record = logging.LogRecord("x", logging.ERROR, "", 0, "a%s", ("\x9b\nb",), error)
    message, *traceback = CleanFormatter("%(message)s").format(record).split("\n")
    assert message == "a b"
    assert traceback[0] == "Traceback (most recent call last):"
    assert traceback[-1] == "ValueError: so [2J "


def a_record(message: str, **more: object) -> logging.LogRecord:
    return logging.makeLogRecord({"msg": message, "levelname": "INFO", **more})


def test_json_lines_have_the_same_fields_first(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.root, "handlers", [])
    monkeypatch.setattr(logging.root, "level", logging.root.level)
    log_to_stderr("json", "info", logging.Formatter())
    fields = {"fields": {"fact": "Started", "odd": object}}
    logging.getLogger("forewarn.x").info("so", extra=fields)
    line = json.loads(capsys.readouterr().err)
    assert [*line] == ["time", "level", "logger", "message", "fact", "odd"]
    assert (line["level"], line["logger"], line["message"]) == (
        "info",
        "forewarn.x",
        "so",
    )


def test_blocked_output_delays_nobody_and_omitted_lines_are_counted() -> None:
    written, is_reached, is_open = bytearray(), Event(), Event()

    def write(data: bytes) -> int:
        is_reached.set()
        assert is_open.wait(PATIENCE)
        written.extend(data[:4])
        return min(len(data), 4)  # like a pipe with little room

    handler = BackgroundHandler(write, most=2)
    handler.handle(a_record("first"))
    assert is_reached.wait(PATIENCE)
    for number in range(5):  # would hang if this thread had to wait
        handler.handle(a_record(f"line {number}"))
    is_open.set()
    handler.flush()
    assert written.decode().splitlines() == [
        "first",
        "omitted 3 log messages: nothing read the log",
        "line 0",
        "line 1",
    ]


def test_output_that_fails_loses_only_that_line() -> None:
    written, failures = bytearray(), [OSError(28, "No space left on device")]

    def write(data: bytes) -> int:
        if failures:
            raise failures.pop()
        written.extend(data)
        return len(data)

    handler = BackgroundHandler(write)
    for message in ("lost", "written"):
        handler.handle(a_record(message))
    handler.flush()
    assert written == b"written\n"


def test_line_is_completed_if_the_output_is_full_for_a_moment() -> None:
    written, failures = bytearray(), [BlockingIOError()]

    def write(data: bytes) -> int:
        if written and failures:
            raise failures.pop()
        written.extend(data[:4])
        return min(len(data), 4)

    handler = BackgroundHandler(write)
    handler.handle(a_record("complete"))
    handler.flush()
    assert written == b"complete\n"
