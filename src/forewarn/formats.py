"""Text formats: durations, numbers, lists of names, and printable text."""

import re
from collections.abc import Sequence
from datetime import timedelta

from forewarn.errors import InvalidInput

_WITH_UNITS = re.compile(
    "".join(rf"(?:([0-9]{{1,9}}){unit})?" for unit in ("d", "h", "m(?!s)", "s", "ms")),
    re.IGNORECASE,
)
_MILLISECONDS = (86_400_000, 3_600_000, 60_000, 1_000, 1)
_SECONDS = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,3})?")
_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
_BASE_36 = "0123456789abcdefghijklmnopqrstuvwxyz"
# C0 and C1 controls, line separators, and the controls for bidirectional text, which
# can make text look different (the Bidi_Control property in Unicode).
_CONTROLS = (
    r"\x00-\x1f\x7f-\x9f\u2028\u2029"
    r"\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
)
_CONTROL = re.compile(f"[{_CONTROLS}]+")
_NOT_LAYOUT = re.compile(rf"(?![\n\t])[{_CONTROLS}]")
_PRECISE = 10  # tenths are shown below this number of seconds


def parse_duration(value: str | float | timedelta) -> timedelta:
    """Parse a duration; a plain number is in seconds."""
    if isinstance(value, timedelta):
        return value
    text = str(value).strip()
    try:
        if _SECONDS.fullmatch(text) or _is_number(value):
            return timedelta(seconds=float(text))
        return timedelta(milliseconds=_milliseconds(text))
    except OverflowError:
        raise InvalidInput(f"{text!r} is out of range") from None


def exact_duration(duration: timedelta, separator: str = "") -> str:
    """Format `duration` so that it can be parsed again, for example 1h30m."""
    left, parts = round(duration / timedelta(milliseconds=1)), []
    for size, unit in zip(_MILLISECONDS, ("d", "h", "m", "s", "ms"), strict=True):
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count}{unit}")
    return separator.join(parts) or "0s"


def format_duration(length: timedelta | float, *, units: int = 2) -> str:
    """Format a duration with its largest units, for example 14 min 30 s."""
    if isinstance(length, timedelta):
        seconds: float = int(length.total_seconds())
    else:
        seconds = length
    if 0 < seconds < _PRECISE:
        return f"{seconds:.1f} s".replace(".0 s", " s")
    left, parts = max(round(seconds), 0), []
    for unit, size in _UNITS:
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:units]) or "0 s"


def count(number: int, noun: str) -> str:
    """Format a number with its noun, for example "1 VM" or "2 VMs"."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def format_times(number: int) -> str:
    """Format how often something happened: once, twice, 3 times."""
    return {1: "once", 2: "twice"}.get(number, f"{number} times")


def join_names(names: Sequence[str], limit: int = 5) -> str:
    """Join `names`; if more than `limit` + 1, name only `limit` and count the rest."""
    if len(names) <= limit + 1:
        return ", ".join(names)
    return f"{', '.join(names[:limit])} and {len(names) - limit} more"


def join_all(names: Sequence[str]) -> str:
    """Join names for a sentence: a, b and c."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"


def base_36(number: int) -> str:
    """Format the number of a scale set's VM as the six digits in its hostname."""
    digits = ""
    for _ in range(6):
        number, digit = divmod(number, 36)
        digits = _BASE_36[digit] + digits
    return digits


def clean(text: str) -> str:
    """Replace control characters, which could move the cursor or reorder the line."""
    return _CONTROL.sub(" ", text)


def escape_controls(text: str) -> str:
    """Escape control characters as JSON does, except line breaks and tabs."""
    return _NOT_LAYOUT.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def is_utf8(text: str) -> bool:
    """Return whether `text` can be encoded, which lone surrogates prevent.

    Arguments, environment variables and JSON escapes can contain lone surrogates.
    """
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_number(value: object) -> bool:
    """Return whether `value` is a number that is not negative."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return value >= 0


def _milliseconds(text: str) -> int:
    match = _WITH_UNITS.fullmatch(text)
    if not text or match is None:
        raise InvalidInput(
            f"{text!r} is not a duration; for example, use 90, 90s, 20m, 1h30m, 1d"
            " or 250ms"
        )
    parts = zip(match.groups(), _MILLISECONDS, strict=True)
    return sum(int(number or 0) * unit for number, unit in parts)
