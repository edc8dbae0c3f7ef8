"""Times in which the service was away; they are nobody's notice, nobody's silence."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """A time in which nobody could ask, and nobody was told."""

    since: datetime
    until: datetime


def lost(outages: Iterable[Outage], since: datetime, until: datetime) -> timedelta:
    """Add up how much of the time from `since` to `until` was lost to `outages`."""
    parts = (
        min(each.until, until) - max(each.since, since)
        for each in outages
        if each.since < until and since < each.until
    )
    return sum(parts, timedelta(0))
