"""Log output of the agent, and conditions that are logged once."""

import logging
import os
from threading import Lock

from forewarn.formats import clean
from forewarn.logs import UtcFormatter

#: Priorities for systemd's journal (sd-daemon(3)).
_PRIORITIES = {"DEBUG": 7, "INFO": 6, "WARNING": 4, "ERROR": 3, "CRITICAL": 2}


class _TextFormatter(UtcFormatter):
    """One line per message, whatever a server or hook has written."""

    def format(self, record: logging.LogRecord) -> str:
        line = f"{record.levelname.lower():<7} {clean(record.getMessage())}"
        if record.exc_info:
            line += f"\n{self.formatException(record.exc_info)}"
        return self.prefix(record) + line

    def prefix(self, record: logging.LogRecord) -> str:
        """Return the prefix of a line."""
        return f"{self.formatTime(record)} "


class _JournalFormatter(_TextFormatter):
    """Lines for systemd, which adds the time itself and keeps the priority."""

    def prefix(self, record: logging.LogRecord) -> str:
        return f"<{_PRIORITIES.get(record.levelname, 6)}>"


def text_formatter() -> logging.Formatter:
    """Return the formatter for lines of text on standard error."""
    return _JournalFormatter() if _is_journal() else _TextFormatter()


def _is_journal() -> bool:
    """Return whether standard error is systemd's journal."""
    try:
        about = os.fstat(2)
    except OSError:
        return False
    return os.environ.get("JOURNAL_STREAM") == f"{about.st_dev}:{about.st_ino}"


class Conditions:
    """Logs a problem when it begins and when it ends, not in between."""

    def __init__(self, log: logging.Logger) -> None:
        """Log to `log`."""
        self._log = log
        self._lock = Lock()
        self._active: dict[str, tuple[str, str]] = {}  # name: kind, sentence
        self.changes = 0  # number of changes logged

    def report(
        self, condition: str, is_active: bool, sentence: str, *, kind: str = ""
    ) -> bool:
        """Log `sentence` if the condition has just begun or ended.

        A condition that changes its `kind` is logged again. Returns whether it was
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
