"""Parsers of option values: durations, times, numbers, URLs, event types."""

import argparse
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from math import nan
from urllib.parse import SplitResult, urlsplit

from forewarn.errors import InvalidInput
from forewarn.formats import parse_duration
from forewarn.protocol.types import EventSource, EventType

_BOOLEANS: Mapping[str, bool] = {
    "1": True,
    "true": True,
    "yes": True,
    "on": True,
    "0": False,
    "false": False,
    "no": False,
    "off": False,
}

_HOST_TYPES = (EventType.FREEZE, EventType.REBOOT, EventType.REDEPLOY)


def read_boolean(text: str) -> bool:
    """Parse a Boolean."""
    value = _BOOLEANS.get(text.strip().lower())
    if value is None:
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither 1, true, yes, on nor 0, false, no, off"
        )
    return value


def one_of(*words: str, noun: str | None = None) -> Callable[[str], str]:
    """Return a parser that accepts `words`, ignoring case; errors name the `noun`."""
    listed = ", ".join(words)
    wrong = f"none of {listed}" if noun is None else f"not {noun}; known are {listed}"

    def read(text: str) -> str:
        if text.lower() in words:
            return text.lower()
        raise argparse.ArgumentTypeError(f"{text!r} is {wrong}")

    return read


def read_number(text: str) -> int:
    """Parse a nonnegative integer."""
    if re.fullmatch(r"[0-9]{1,18}", text):
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")


def read_duration(text: str) -> int:
    """Parse a duration such as 20m, 1h30m or 90; return whole seconds."""
    if re.fullmatch(r"[0-9]{1,18}", text):
        return int(text)
    try:
        seconds = parse_duration(text).total_seconds()
    except InvalidInput:
        seconds = nan
    if not seconds.is_integer():
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a duration; write 90, 90s, 20m, 1h30m or 1d"
        )
    return int(seconds)


def read_real_duration(text: str) -> float:
    """Parse a duration that may be short, such as 250ms; return seconds."""
    try:
        return parse_duration(text).total_seconds()
    except InvalidInput as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def read_fraction(text: str) -> float:
    """Parse a decimal number such as 0.25."""
    if re.fullmatch(r"[0-9]{0,9}\.?[0-9]{1,9}", text):
        return float(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a number such as 0.25")


def read_time(text: str) -> datetime:
    """Parse a time with its zone; return it in UTC."""
    try:
        moment = datetime.fromisoformat(text.strip().upper())
        zoned = moment.tzinfo is not None
        utc = moment.astimezone(UTC) if zoned else moment
    except (ValueError, OverflowError) as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a time; write it like 2026-01-31T12:15:00Z"
        ) from error
    if not zoned:
        raise argparse.ArgumentTypeError(
            f"{text!r} has no zone; add Z for UTC, or an offset such as +02:00"
        )
    return utc


def read_time_or_duration(text: str) -> int | datetime:
    """Parse a time with its zone, or a duration in seconds."""
    return read_time(text) if "-" in text else read_duration(text)


def read_past(text: str) -> int | datetime:
    """Parse a time with its zone, a date in UTC, or a number of seconds ago."""
    if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return read_time(f"{text}T00:00:00Z")
    if text.strip()[:1].isdigit():
        return read_time_or_duration(text)
    raise argparse.ArgumentTypeError(
        f"{text!r} is no time; write 2026-01-31T12:15:00Z, 2026-01-31 or, for that"
        " long ago, 2h"
    )


def read_url(text: str) -> str:
    """Parse the address of the control API."""
    parts = _split(text)
    if parts is None or parts.query or parts.fragment:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not an address; write it like http://127.0.0.1:8255"
        )
    if parts.username is not None:
        raise argparse.ArgumentTypeError("an address takes no user; use --token")
    return text.rstrip("/")


def _split(text: str) -> SplitResult | None:
    """Split an address; None if it is invalid."""
    if not re.fullmatch(r"[!-~]+", text):
        return None
    try:
        parts = urlsplit(text)
        is_http = parts.scheme in ("http", "https") and parts.port != 0
    except ValueError:
        return None
    return parts if is_http and parts.hostname else None


def read_type(text: str) -> EventType:
    """Parse an event type, ignoring case."""
    for event_type in EventType:
        if event_type.value.lower() == text.lower():
            return event_type
    names = ", ".join(event_type.value for event_type in EventType)
    raise argparse.ArgumentTypeError(
        f"{text!r} is not an event type; known are {names}"
    )


def read_host_type(text: str) -> EventType:
    """Parse an event type that a host's maintenance can have, ignoring case."""
    event_type = read_type(text)
    if event_type in _HOST_TYPES:
        return event_type
    names = ", ".join(allowed.value for allowed in _HOST_TYPES)
    raise argparse.ArgumentTypeError(
        f"a host is maintained by one of {names}, not {event_type.value}"
    )


def read_source(text: str) -> EventSource:
    """Parse an event source, ignoring case."""
    for event_source in EventSource:
        if event_source.value.lower() == text.lower():
            return event_source
    raise argparse.ArgumentTypeError(f"{text!r} is neither platform nor user")
