"""Log lines on standard error, as text or as JSON."""

import json
import logging
import os
import sys
from collections.abc import Callable
from functools import partial
from queue import Full, Queue
from threading import Thread
from time import gmtime, sleep
from types import TracebackType

from forewarn.formats import clean, count

FORMATS = ("text", "json")
LEVELS = ("debug", "info", "warning", "error")

_MOST_LINES = 10_000  # waiting to be written
_FLUSH_LIMIT = 1.0  # seconds
_PAUSE = 0.05  # seconds, before writing to a full pipe again

_ExceptionInfo = (
    tuple[type[BaseException], BaseException, TracebackType | None]
    | tuple[None, None, None]
)


class CleanFormatter(logging.Formatter):
    """A formatter that replaces control characters, even in quoted text."""

    def formatMessage(self, record: logging.LogRecord) -> str:
        """Format the message on one line."""
        record.message = clean(record.message)
        return super().formatMessage(record)

    def formatException(self, ei: _ExceptionInfo) -> str:
        """Format a traceback without control characters."""
        return "\n".join(map(clean, super().formatException(ei).split("\n")))


class UtcFormatter(CleanFormatter):
    """A formatter with RFC 3339 times in UTC."""

    converter = staticmethod(gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"


class _JsonFormatter(UtcFormatter):
    """Formats each record as one JSON object per line."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, object] = {
            "time": self.formatTime(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        for name in ("condition", "event"):  # set by the agent and by notifiers
            if getattr(record, name, None) is not None:
                line[name] = getattr(record, name)
        line |= getattr(record, "fields", {})  # set by the service
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


class BackgroundHandler(logging.Handler):
    """A handler that writes in a thread, so that no caller waits for the output.

    If the output is blocked, for example because nothing reads from a pipe, lines wait
    in memory. If there are too many, further lines are omitted and counted.
    """

    def __init__(self, write: Callable[[bytes], int], most: int = _MOST_LINES) -> None:
        """Start a thread that calls `write`, which returns the number of bytes written.

        At most `most` lines wait.
        """
        super().__init__()
        self._write_some = write
        self._lines: Queue[str] = Queue(most)
        self._omitted = 0  # since the start; changed only by `emit`
        Thread(target=self._run, name="log-writer", daemon=True).start()

    def emit(self, record: logging.LogRecord) -> None:
        """Queue the line for `record`."""
        try:
            self._lines.put_nowait(self.format(record))
        except Full:
            self._omitted += 1
        except Exception:  # the arguments do not match the message
            self.handleError(record)

    def flush(self) -> None:
        """Wait until all lines are written; give up after a second."""
        with self._lines.all_tasks_done:
            self._lines.all_tasks_done.wait_for(
                lambda: not self._lines.unfinished_tasks, _FLUSH_LIMIT
            )

    def _run(self) -> None:
        reported = 0
        while True:
            self._write(self._lines.get())
            omitted = self._omitted - reported
            if omitted:
                reported += omitted
                text = f"omitted {count(omitted, 'log message')}: nothing read the log"
                record = logging.makeLogRecord(
                    {"name": __name__, "levelname": "WARNING", "msg": text}
                )
                self._write(self.format(record))
            self._lines.task_done()

    def _write(self, line: str) -> None:
        data = f"{line}\n".encode(errors="backslashreplace")
        while data:
            try:
                data = data[self._write_some(data) :]
            except BlockingIOError:  # a full pipe that does not block
                sleep(_PAUSE)
            except OSError:
                return  # a full disk or a closed pipe must not stop the service


def log_to_stderr(
    format: str, level: str, text: logging.Formatter, *, in_background: bool = False
) -> None:
    """Log messages of at least `level` to standard error.

    `format` is one of `FORMATS`; `text` formats lines of text. If `in_background`, no
    caller waits until a message is written.
    """
    handler: logging.Handler = logging.StreamHandler(sys.stderr)
    if in_background and sys.stderr is not None:
        # Not `sys.stderr.write`, because every exit waits for the lock that it holds.
        handler = BackgroundHandler(partial(os.write, sys.stderr.fileno()))
    handler.setFormatter(_JsonFormatter() if format == "json" else text)
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
