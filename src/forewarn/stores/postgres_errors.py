"""What PostgreSQL says of its troubles, in a sentence for the person who reads it."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import psycopg

from forewarn.errors import InvalidInput, Unavailable

#: Troubles that an operator can do something about, by SQLSTATE.
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

#: What may fail although we made no mistake.
_TROUBLE = (psycopg.OperationalError, psycopg.InterfaceError, psycopg.InternalError)

_SEVERITY = re.compile(r"^\w+: {2}")  # in the language of the server


class Trouble(psycopg.OperationalError):
    """What we find out ourselves; its text says it after the name of the store."""


class InUseElsewhere(Trouble):
    """Another forewarn holds the lock."""


def what(error: psycopg.Error) -> str:
    """Say what is the matter, in words that follow the name of the store."""
    if isinstance(error, Trouble):
        return str(error)
    known = _KNOWN.get(error.sqlstate or "")
    if known is not None:
        return known
    primary = error.diag.message_primary
    return f"cannot be used: {primary or _first_line(str(error))}"


def _first_line(text: str) -> str:
    """Take the reason out of what the driver says of a connection."""
    line = text.strip().partition("\n")[0]
    reason = line.rpartition(" failed: ")[2]
    return _SEVERITY.sub("", reason).strip()


@contextmanager
def translated() -> Iterator[None]:
    """Turn the troubles of a database into our own error."""
    try:
        yield
    except psycopg.Error as error:
        if error.sqlstate == _TOO_LONG:
            raise InvalidInput("a text is too long to be kept") from error
        if error.sqlstate in _KNOWN or isinstance(error, _TROUBLE):
            raise Unavailable(f"the store {what(error)}") from error
        raise  # our own mistakes
