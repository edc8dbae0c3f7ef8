"""The agent's log output, the output's limits, and conditions that are logged once."""

import logging
import os
import time
from collections.abc import Callable
from threading import Lock

from forewarn.formats import clean, count
from forewarn.logs import UtcFormatter

#: Priorities for systemd's journal (sd-daemon(3)).
_PRIORITIES = {"DEBUG": 7, "INFO": 6, "WARNING": 4, "ERROR": 3, "CRITICAL": 2}

MOST_MESSAGES = 1000  # messages per period; 256 new events lead to about 800
LONGEST_MESSAGE = 2000  # characters
_PERIOD = 60.0  # seconds


class _TextFormatter(UtcFormatter):
    """Formats each message on one line, even if it contains several lines."""

    def format(self, record: logging.LogRecord) -> str:
        line = f"{record.levelname.lower():<7} {clean(record.getMessage())}"
        if record.exc_info:
            line += f"\n{self.formatException(record.exc_info)}"
        return self.prefix(record) + line

    def prefix(self, record: logging.LogRecord) -> str:
        """Return the prefix of a line."""
        return f"{self.formatTime(record)} "


class _JournalFormatter(_TextFormatter):
    """Formats lines for systemd, which adds the time and keeps the priority."""

    def prefix(self, record: logging.LogRecord) -> str:
        return f"<{_PRIORITIES.get(record.levelname, 6)}>"


def text_formatter() -> logging.Formatter:
    """Return the formatter for text on standard error."""
    return _JournalFormatter() if _is_journal() else _TextFormatter()


def _is_journal() -> bool:
    """Return whether standard error goes to systemd's journal."""
    try:
        about = os.fstat(2)
    except OSError:
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{about.st_dev}:{about.st_ino}"


class LogLimit(logging.Filter):
    """Omits messages when there are too many and shortens long messages.

    Without this limit, a service that shows new events in every document could fill
    the disk.
    """

    def __init__(
        self, log: logging.Logger, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        """Create a limit for the messages of `log`; `monotonic` returns the time."""
        super().__init__()
        self._log = log
        self._monotonic = monotonic
        self._lock = Lock()  # guards the fields below
        self._began = monotonic()  # when the period began
        self._number = 0  # messages in this period

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether to log a message; report once that messages are omitted."""
        with self._lock:
            omitted = 0
            if self._monotonic() - self._began >= _PERIOD:
                omitted = self._number - MOST_MESSAGES
                self._began, self._number = self._monotonic(), 0
            self._number += 1
            number = self._number
        if omitted > 0:
            self._report(f"omitted {count(omitted, 'log message')}")
        if number == MOST_MESSAGES + 1:
            self._report(
                f"more than {MOST_MESSAGES} log messages in {_PERIOD:.0f} s;"
                " omitting further messages, but the audit log still records all"
                " events"
            )
        text = record.getMessage()
        if len(text) > LONGEST_MESSAGE:
            text = f"{text[:LONGEST_MESSAGE]}... ({len(text)} characters)"
            record.msg, record.args = text, None
        return number <= MOST_MESSAGES

    def _report(self, text: str) -> None:
        """Log `text` without any limit."""
        if self._log.isEnabledFor(logging.WARNING):
            self._log.callHandlers(
                self._log.makeRecord(
                    self._log.name, logging.WARNING, __file__, 0, text, (), None
                )
            )


class Conditions:
    """Logs a problem when it begins and when it ends, but not in between."""

    def __init__(self, log: logging.Logger) -> None:
        """Create a set of conditions, initially empty, that logs changes to `log`."""
        self._log = log
        self._lock = Lock()
        self._active: dict[str, tuple[str, str]] = {}  # kind and sentence
        self.changes = 0  # number of changes logged

    def report(
        self, condition: str, is_active: bool, sentence: str, *, kind: str = ""
    ) -> bool:
        """Log `sentence` if the condition has just begun or ended.

        A condition that changes its `kind` is logged again. Return whether it was
        logged.
        """
        with self._lock:
            before = self._active.get(condition)
            if is_active:
                self._active[condition] = (kind, sentence)
            else:
                self._active.pop(condition, None)
            if is_active:
                is_change = before is None or before[0] != kind
            else:
                is_change = before is not None
            self.changes += is_change
        if is_change:
            level = logging.WARNING if is_active else logging.INFO
            self._log.log(level, "%s", sentence, extra={"condition": condition})
        return is_change

    def active(self) -> dict[str, str]:
        """Return the current conditions, each with its latest sentence."""
        with self._lock:
            return {name: sentence for name, (_, sentence) in self._active.items()}
