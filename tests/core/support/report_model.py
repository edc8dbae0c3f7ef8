"""Expected reports: counts of any history, recomputed from its facts."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from forewarn.core.lifecycle.facts import Fact
from forewarn.core.lifecycle.model import Slice
from forewarn.core.queries.report import MaintenanceHistory, Month, make_report

#: The fact that each number of a report counts.
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
    """Check that no promise is broken and every fact is counted exactly once."""
    lives = [
        MaintenanceHistory(maintenance=item) for item in slice_.maintenances.values()
    ]
    time = Month(since=since, until=until)
    report = make_report(lives, slice_.outages, time, now=until)
    assert report.broken_promises == ()
    happened = Counter(type(fact).__name__ for fact in facts)
    for name, kind in FACTS.items():
        assert (
            sum(getattr(item, name) for item in report.maintenances) == happened[kind]
        )
    assert report.starts.kept == happened["Started"]
    assert report.approvals.total == happened["Approved"]
    assert report.outages.total == happened["OutageEnded"]
