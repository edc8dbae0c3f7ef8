"""Log lines on standard error, as text or as JSON."""

import json
import logging
import sys
from time import gmtime
from types import TracebackType

from forewarn.formats import clean

FORMATS = ("text", "json")
LEVELS = ("debug", "info", "warning", "error")

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
            "at": self.formatTime(record),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        for name in ("condition", "event"):  # set by the agent and by notifiers
            if getattr(record, name, None) is not None:
                line[name] = getattr(record, name)
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line)


def log_to_stderr(format: str, level: str, text: logging.Formatter) -> None:
    """Log messages of at least `level` to standard error.

    `format` is one of `FORMATS`; `text` formats lines of text.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonFormatter() if format == "json" else text)
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
