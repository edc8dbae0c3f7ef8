"""What a report says of any history, counted again from its facts."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from forewarn.core.facts import Fact
from forewarn.core.maintenance import Slice
from forewarn.core.months import Month
from forewarn.core.reporting import Life, make_report

#: Which fact each number of a report counts.
FACTS = {
    "announced": "Announced",
    "started": "Started",
    "completed": "Completed",
    "canceled": "Canceled",
    "failed": "Closed",
    "withdrawn": "Withdrawn",
}


def check_report(
    slice_: Slice, facts: Iterable[Fact], since: datetime, until: datetime
) -> None:
    """No promise is broken, and everything that happened is counted once."""
    lives = [Life(maintenance=each) for each in slice_.maintenances.values()]
    time = Month(since=since, until=until)
    made = make_report(lives, slice_.outages, time, now=until)
    assert made.broken == ()
    happened = Counter(type(fact).__name__ for fact in facts)
    for name, kind in FACTS.items():
        assert sum(getattr(each, name) for each in made.counts) == happened[kind]
    assert made.starts.kept == happened["Started"]
    assert sum(made.approvals.values()) == happened["Approved"]
    assert made.outages == happened["OutageEnded"]
