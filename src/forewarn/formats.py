"""Durations as people write them: 14m, 1h30m, 90s, 250ms, 90."""

import re
from datetime import timedelta

from forewarn.errors import InvalidInput

_WRITTEN = re.compile(
    "".join(rf"(?:([0-9]{{1,9}}){unit})?" for unit in ("d", "h", "m(?!s)", "s", "ms")),
    re.IGNORECASE,
)
_MILLISECONDS = (86_400_000, 3_600_000, 60_000, 1_000, 1)
_PLAIN = re.compile(r"[0-9]{1,9}(?:\.[0-9]{1,3})?")


def parse_duration(written: str | float | timedelta) -> timedelta:
    """Parse a duration; a plain number is in seconds."""
    if isinstance(written, timedelta):
        return written
    text = str(written).strip()
    if _PLAIN.fullmatch(text) or _is_number(written):
        return _seconds(float(text), text)
    match = _WRITTEN.fullmatch(text)
    if not text or match is None:
        raise InvalidInput(
            f"{text!r} is not a duration; write 90, 90s, 20m, 1h30m, 1d or 250ms"
        )
    parts = zip(match.groups(), _MILLISECONDS, strict=True)
    try:
        return timedelta(milliseconds=sum(int(n or 0) * unit for n, unit in parts))
    except OverflowError:
        raise InvalidInput(f"{text!r} is longer than time itself") from None


def _is_number(written: object) -> bool:
    """Whether it is a computed number, such as 1 / 3 or 1e-07."""
    if isinstance(written, bool) or not isinstance(written, int | float):
        return False
    return written >= 0


def _seconds(number: float, text: str) -> timedelta:
    try:
        return timedelta(seconds=number)
    except OverflowError:
        raise InvalidInput(f"{text!r} is longer than time itself") from None


def exact_duration(duration: timedelta) -> str:
    """Format `duration` so that it can be parsed again: 1h30m."""
    left, parts = round(duration / timedelta(milliseconds=1)), []
    for size, unit in zip(_MILLISECONDS, ("d", "h", "m", "s", "ms"), strict=True):
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"
