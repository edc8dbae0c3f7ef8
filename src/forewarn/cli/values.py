"""Values as people write them on the command line."""

import argparse
import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from math import nan
from urllib.parse import SplitResult, urlsplit

from forewarn.core.durations import duration_of
from forewarn.core.months import month_named
from forewarn.core.searching import kind_named
from forewarn.errors import InvalidInput
from forewarn.protocol.types import EventSource, EventType

_TRUTH: Mapping[str, bool] = {
    "1": True,
    "true": True,
    "yes": True,
    "on": True,
    "0": False,
    "false": False,
    "no": False,
    "off": False,
}

_FOR_HOSTS = (EventType.FREEZE, EventType.REBOOT, EventType.REDEPLOY)


def read_truth(text: str) -> bool:
    """Read whether something is wanted."""
    found = _TRUTH.get(text.strip().lower())
    if found is None:
        raise argparse.ArgumentTypeError(
            f"{text!r} is neither 1, true, yes, on nor 0, false, no, off"
        )
    return found


def one_of(*known: str) -> Callable[[str], str]:
    """Make a reader of one of the words `known`, in any case."""

    def read(text: str) -> str:
        if text.lower() in known:
            return text.lower()
        raise argparse.ArgumentTypeError(f"{text!r} is none of {', '.join(known)}")

    return read


def read_number(text: str) -> int:
    """Read a whole number that is not negative."""
    if re.fullmatch(r"[0-9]{1,18}", text):
        return int(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")


def read_duration(text: str) -> int:
    """Read a duration such as 20m, 1h30m or 90; answer whole seconds."""
    if re.fullmatch(r"[0-9]{1,18}", text):
        return int(text)
    try:
        seconds = duration_of(text).total_seconds()
    except InvalidInput:
        seconds = nan
    if not seconds.is_integer():
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a duration; write 90, 90s, 20m, 1h30m or 1d"
        )
    return int(seconds)


def read_real_duration(text: str) -> float:
    """Read a duration that may be short, such as 250ms; answer seconds."""
    try:
        return duration_of(text).total_seconds()
    except InvalidInput as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def read_fraction(text: str) -> float:
    """Read a number such as 0.25."""
    if re.fullmatch(r"[0-9]{0,9}\.?[0-9]{1,9}", text):
        return float(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a number such as 0.25")


def read_time(text: str) -> datetime:
    """Read a time with its zone."""
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
    """Read a time with its zone, or a duration in seconds."""
    return read_time(text) if "-" in text else read_duration(text)


def read_past(text: str) -> int | datetime:
    """Read a time with its zone, a day in UTC, or how many seconds ago."""
    if re.fullmatch(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", text):
        return read_time(f"{text}T00:00:00Z")
    if text.strip()[:1].isdigit():
        return read_time_or_duration(text)
    raise argparse.ArgumentTypeError(
        f"{text!r} is no time; write 2026-01-31T12:15:00Z, 2026-01-31 or, for that"
        " long ago, 2h"
    )


def read_month(text: str) -> str:
    """Read a month such as 2026-01."""
    try:
        return month_named(text).name
    except InvalidInput as error:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not a month; write it like 2026-01"
        ) from error


def read_fact(text: str) -> str:
    """Read the name of a fact, in any case."""
    try:
        return kind_named(text).__name__
    except InvalidInput as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def read_url(text: str) -> str:
    """Read the address of the control API."""
    parts = _split(text)
    if parts is None or parts.query or parts.fragment:
        raise argparse.ArgumentTypeError(
            f"{text!r} is not an address; write it like http://127.0.0.1:8255"
        )
    if parts.username is not None:
        raise argparse.ArgumentTypeError("an address takes no user; use --token")
    return text.rstrip("/")


def _split(text: str) -> SplitResult | None:
    """Take an address apart; None if it is none."""
    if not re.fullmatch(r"[!-~]+", text):
        return None
    try:
        parts = urlsplit(text)
        known = parts.scheme in ("http", "https") and parts.port != 0
    except ValueError:
        return None
    return parts if known and parts.hostname else None


def read_type(text: str) -> EventType:
    """Read an event type, in any case."""
    for each in EventType:
        if each.value.lower() == text.lower():
            return each
    known = ", ".join(each.value for each in EventType)
    raise argparse.ArgumentTypeError(
        f"{text!r} is not an event type; known are {known}"
    )


def read_host_type(text: str) -> EventType:
    """Read the type of a host's maintenance, in any case."""
    found = read_type(text)
    if found in _FOR_HOSTS:
        return found
    known = ", ".join(each.value for each in _FOR_HOSTS)
    raise argparse.ArgumentTypeError(
        f"a host is maintained by one of {known}, not {found.value}"
    )


def read_source(text: str) -> EventSource:
    """Read an event source, in any case."""
    for each in EventSource:
        if each.value.lower() == text.lower():
            return each
    raise argparse.ArgumentTypeError(f"{text!r} is neither platform nor user")
