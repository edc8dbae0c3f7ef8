"""Log lines on standard error, as text or as JSON."""

import json
import logging
import sys
from time import gmtime

FORMATS = ("text", "json")
LEVELS = ("debug", "info", "warning", "error")


class UtcFormatter(logging.Formatter):
    """A formatter whose times are RFC 3339, in UTC."""

    converter = staticmethod(gmtime)
    default_time_format = "%Y-%m-%dT%H:%M:%S"
    default_msec_format = "%s.%03dZ"


class _JsonFormatter(UtcFormatter):
    """One JSON object per line."""

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
    """Log from `level` on, in one of `FORMATS`; `text` formats lines of text."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_JsonFormatter() if format == "json" else text)
    logging.basicConfig(level=level.upper(), handlers=[handler], force=True)
