"""Log lines of the service."""

import json
import logging
import sys
from io import StringIO
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


class BlockedStream(StringIO):
    """A stream that blocks, like a pipe that nobody reads, until it is `open`."""

    def __init__(self) -> None:
        super().__init__()
        self.open = Event()
        self.reached = Event()

    def write(self, text: str) -> int:
        self.reached.set()
        assert self.open.wait(PATIENCE)
        return super().write(text)


def test_a_blocked_stream_delays_nobody_and_omitted_lines_are_counted() -> None:
    stream = BlockedStream()
    handler = BackgroundHandler(stream, most=2)
    handler.handle(a_record("first"))
    assert stream.reached.wait(PATIENCE)
    for number in range(5):  # would hang if this thread had to wait
        handler.handle(a_record(f"line {number}"))
    stream.open.set()
    handler.flush()
    assert stream.getvalue().splitlines() == [
        "first",
        "omitted 3 log messages: the log was blocked",
        "line 0",
        "line 1",
    ]


class FailingStream(StringIO):
    """A stream whose first write fails, like a full disk."""

    failures = 1

    def write(self, text: str) -> int:
        if self.failures:
            self.failures -= 1
            raise OSError(28, "No space left on device")
        return super().write(text)


def test_a_stream_that_fails_loses_only_that_line() -> None:
    stream = FailingStream()
    handler = BackgroundHandler(stream)
    for message in ("lost", "written"):
        handler.handle(a_record(message))
    handler.flush()
    assert stream.getvalue() == "written\n"
