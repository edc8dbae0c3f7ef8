"""Parsers for option values in argparse: durations, times, numbers, URLs, words."""

import argparse
import re
from collections.abc import Callable
from datetime import UTC, datetime
from functools import wraps
from typing import TypeVar

from forewarn.configfile import values
from forewarn.errors import InvalidInput
from forewarn.formats import parse_duration
from forewarn.protocol.types import EventSource, EventType

_T = TypeVar("_T")
_Word = TypeVar("_Word", bound=str)

_WHOLE = values.matching(re.compile(r"[0-9]{1,18}"), "a whole number")
_DECIMAL = values.matching(
    re.compile(r"[0-9]{0,9}\.?[0-9]{1,9}"), "a number such as 0.25"
)


def argument(read: Callable[[str], _T]) -> Callable[[str], _T]:
    """Wrap `read`, so that argparse reports the message of `InvalidInput`."""

    @wraps(read)
    def parse(text: str) -> _T:
        try:
            return read(text)
        except InvalidInput as error:
            raise argparse.ArgumentTypeError(str(error)) from error

    return parse


def one_of(*words: _Word) -> Callable[[str], _Word]:
    """Return a parser that accepts `words`, ignoring case."""
    parse = argument(values.one_of(*words))
    parse.words = words  # type: ignore[attr-defined]  # read by `completion`
    return parse


#: Parses a Boolean value.
read_boolean = argument(values.read_switch)
#: Parses an event type, ignoring case.
read_type = one_of(*EventType)
#: Parses an event source, ignoring case.
read_source = one_of(*EventSource)


@argument
def read_number(text: str) -> int:
    """Parse a nonnegative integer."""
    return int(_WHOLE(text))


@argument
def read_fraction(text: str) -> float:
    """Parse a decimal number, for example 0.25."""
    return float(_DECIMAL(text))


def _refuse_bare_number(text: str) -> None:
    """Raise `InvalidInput` for a number without a unit, except zero."""
    number = text.strip()
    if re.fullmatch(r"[0-9]{0,9}\.?[0-9]{1,9}", number) and float(number):
        raise InvalidInput(
            f"{number!r} has no unit; use {number}s, {number}m or {number}h"
        )


@argument
def read_duration(text: str) -> int:
    """Parse a duration, for example 20m or 1h30m; return whole seconds."""
    _refuse_bare_number(text)
    seconds = parse_duration(text).total_seconds()
    if not seconds.is_integer():
        raise InvalidInput(f"{text!r} is not a whole number of seconds")
    return int(seconds)


@argument
def read_real_duration(text: str) -> float:
    """Parse a duration, which may be as short as 250ms; return seconds."""
    _refuse_bare_number(text)
    return parse_duration(text).total_seconds()


@argument
def read_time(text: str) -> datetime:
    """Parse a time with a time zone; return it in UTC."""
    try:
        moment = datetime.fromisoformat(text.strip().upper())
        zoned = moment.tzinfo is not None
        utc = moment.astimezone(UTC) if zoned else moment
    except (ValueError, OverflowError):
        raise InvalidInput(
            f"{text!r} is not a valid time; for example, use 2026-01-31T12:15:00Z"
        ) from None
    if not zoned:
        raise InvalidInput(
            f"{text!r} has no time zone; add Z for UTC, or an offset such as +02:00"
        )
    return utc


def read_time_or_duration(text: str) -> int | datetime:
    """Parse a time with a time zone, or a duration in seconds."""
    return read_time(text) if "-" in text else read_duration(text)


def read_past(text: str) -> int | datetime:
    """Parse a time with a time zone, a date in UTC, or a duration before now."""
    if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return read_time(f"{text}T00:00:00Z")
    if text.strip()[:1].isdigit():
        return read_time_or_duration(text)
    raise argparse.ArgumentTypeError(
        f"{text!r} is not a valid time; for example, use 2026-01-31T12:15:00Z,"
        " 2026-01-31, or 2h for two hours ago"
    )


@argument
def read_url(text: str) -> str:
    """Parse the address of the control API."""
    parts = values.split_url(text)
    if parts is None or parts.query or parts.fragment:
        raise InvalidInput(
            f"{text!r} is not a valid URL; for example, use http://127.0.0.1:8255"
        )
    if parts.username is not None:
        raise InvalidInput("usernames in the URL are not supported; use --token")
    return text.rstrip("/")
