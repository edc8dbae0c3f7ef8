"""Calendar months in UTC."""

import re
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from forewarn.errors import InvalidInput

_MONTH = re.compile(r"([0-9]{4})-([0-9]{2})", re.ASCII)
_LAST_YEAR = 9998  # the next year must also be a valid date


@dataclass(frozen=True, slots=True, kw_only=True)
class Month:
    """The time from the start of a month to the start of the next."""

    since: datetime
    until: datetime  # exclusive

    @property
    def name(self) -> str:
        """The month as text: 2026-11."""
        return f"{self.since.year:04}-{self.since.month:02}"  # %Y drops leading zeros

    def has(self, moment: datetime | None) -> bool:
        """Whether `moment` lies in this month; None never does."""
        return moment is not None and self.since <= moment < self.until

    def part(self, since: datetime, until: datetime) -> timedelta:
        """Return how much of the time from `since` to `until` lies in this month."""
        inside = min(until, self.until) - max(since, self.since)
        return max(inside, timedelta(0))


def month_of(moment: datetime) -> Month:
    """Return the month that contains `moment`."""
    first = moment.astimezone(UTC).replace(
        day=1, hour=0, minute=0, second=0, microsecond=0
    )
    following = (first + timedelta(days=31)).replace(day=1)
    return Month(since=first, until=following)


def month_named(text: str) -> Month:
    """Parse a month such as 2026-11."""
    match = _MONTH.fullmatch(text)
    year, month = map(int, match.groups()) if match else (0, 0)
    if not (0 < year <= _LAST_YEAR and 1 <= month <= 12):
        raise InvalidInput(f"month: expected a month such as 2026-11, not {text!r}")
    return month_of(datetime(year, month, 1, tzinfo=UTC))
