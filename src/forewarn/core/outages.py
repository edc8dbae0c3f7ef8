"""Outages: service downtime, which does not count as notice or as group inactivity."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Outage:
    """A period in which no VM could poll and no notification was sent."""

    since: datetime
    until: datetime


def time_lost(outages: Iterable[Outage], since: datetime, until: datetime) -> timedelta:
    """Return how much of the time from `since` to `until` falls within `outages`."""
    parts = (
        min(outage.until, until) - max(outage.since, since)
        for outage in outages
        if outage.since < until and since < outage.until
    )
    return sum(parts, timedelta(0))
