"""Log lines of the service."""

import logging
import sys

from forewarn.logs import CleanFormatter


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
