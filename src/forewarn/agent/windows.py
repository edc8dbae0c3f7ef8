"""Time windows: hours on some weekdays, in a time zone.

The zones come from the machine's time zone database; UTC needs none.
"""

import re
from collections.abc import Iterable
from datetime import UTC, datetime, time, timedelta, tzinfo
from zoneinfo import ZoneInfo, available_timezones

from forewarn.agent.complaints import Place, meant
from forewarn.agent.plan import Window
from forewarn.agent.values import read_text, texts, written, wrong
from forewarn.errors import InvalidInput

#: As in the configuration; Monday is the first.
DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

_CLOCK = re.compile(r"([01]?[0-9]|2[0-3]):([0-5][0-9])")
_DAY = timedelta(days=1)


def is_in(window: Window, moment: datetime) -> bool:
    """Return whether `moment` is in the window, in the window's time zone."""
    local = moment.astimezone(_zone(window.zone))
    today, clock = local.weekday(), local.time()
    yesterday = (local - _DAY).weekday()
    if window.begins == window.ends:
        return today in window.days
    if window.begins < window.ends:
        return today in window.days and window.begins <= clock < window.ends
    began_today = today in window.days and clock >= window.begins
    return began_today or (yesterday in window.days and clock < window.ends)


def local_time(window: Window, moment: datetime) -> str:
    """Format `moment` in the window's time zone."""
    local = moment.astimezone(_zone(window.zone))
    return f"{DAYS[local.weekday()]} {local:%H:%M}"


def shown(window: Window) -> str:
    """Format a window for people."""
    days = ", ".join(DAYS[day] for day in sorted(window.days))
    on = "" if len(window.days) == len(DAYS) else f"{days} "
    return f"{on}{window.begins:%H:%M} to {window.ends:%H:%M}, {window.zone}"


def _zone(name: str) -> tzinfo:
    return UTC if name == "UTC" else ZoneInfo(name)


# --- parsing -----------------------------------------------------------------


def read_days(value: object, place: Place) -> frozenset[int]:
    """Parse weekdays by their first three letters, in any case."""
    words = texts(value, place)
    if not value:
        raise InvalidInput("an empty list is a window that is never open")
    return frozenset(_day(word, at) for word, at in words)


def _day(word: str, place: Place) -> int:
    numbers = [number for number, day in enumerate(DAYS) if day == word.capitalize()]
    if not numbers:
        place.refuse(str(wrong(f"one of {', '.join(DAYS)}", word)))
    return numbers[0] if numbers else 0


def read_clock(value: object, _: Place) -> time:
    """Parse a time of day, to the minute; 24:00 is the end of the day."""
    if isinstance(value, time):
        return value
    if value == "24:00":
        return time()
    parts = _CLOCK.fullmatch(value) if isinstance(value, str) else None
    if parts is None:
        raise wrong('a time of the day such as "22:00"', value)
    return time(int(parts[1]), int(parts[2]))


def read_zone(value: object, place: Place) -> str:
    """Parse the name of a time zone."""
    name = read_text(value, place)
    if name.upper() == "UTC":
        return "UTC"
    try:
        return ZoneInfo(name).key
    except (KeyError, ValueError, OSError):
        raise InvalidInput(_no_zone(name, available_timezones())) from None


def _no_zone(name: str, known: Iterable[str]) -> str:
    if not known:
        return (
            f"this machine has no time zone database, so {written(name)} cannot be"
            " looked up; install tzdata, or write UTC"
        )
    return f"{written(name)} is no time zone{meant(name, known)}"
