"""PostgreSQL errors, translated to sentences for operators."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import psycopg

from forewarn.errors import InvalidInput, Unavailable

#: Problems that an operator can solve, by SQLSTATE.
_KNOWN: Mapping[str, str] = {
    "25006": "is read-only",
    "25P03": "has ended a transaction that stood still",
    "42501": "does not let this role use its tables",
    "42P01": "has lost a table of forewarn",
    "53100": "has no space left on its disk",
    "53300": "has no connection to spare",
    "55P03": "is locked by somebody else",
    "57P01": "has ended the connection",
    "57P02": "is starting again after a crash",
    "57P03": "is starting or being shut down",
}
_TOO_LONG = "22001"

#: Errors that can occur without a bug in our code.
_TROUBLE = (psycopg.OperationalError, psycopg.InterfaceError, psycopg.InternalError)

_SEVERITY = re.compile(r"^\w+: {2}")  # in the server's language


class Trouble(psycopg.OperationalError):
    """A problem that we detect ourselves; its text follows the name of the store."""


class InUseElsewhere(Trouble):
    """Another forewarn holds the lock."""


def what(error: psycopg.Error) -> str:
    """Describe the problem in words that follow the name of the store."""
    if isinstance(error, Trouble):
        return str(error)
    phrase = _KNOWN.get(error.sqlstate or "")
    if phrase is not None:
        return phrase
    primary = error.diag.message_primary
    return f"cannot be used: {primary or _first_line(str(error))}"


def _first_line(text: str) -> str:
    """Extract the reason from the driver's message about a connection."""
    line = text.strip().partition("\n")[0]
    reason = line.rpartition(" failed: ")[2]
    return _SEVERITY.sub("", reason).strip()


@contextmanager
def translated() -> Iterator[None]:
    """Translate database errors to `InvalidInput` and `Unavailable`."""
    try:
        yield
    except psycopg.Error as error:
        if error.sqlstate == _TOO_LONG:
            raise InvalidInput("a text is too long to be kept") from error
        if error.sqlstate in _KNOWN or isinstance(error, _TROUBLE):
            raise Unavailable(f"the store {what(error)}") from error
        raise  # bugs in our code
