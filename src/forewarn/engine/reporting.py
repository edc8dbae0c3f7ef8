"""Monthly reports, computed from the month's journal.

1. Everything that counts in a month left a fact in it, so the journal shows which
   maintenance to load.
2. The journal is read in pages, each in its own snapshot, so that a large report does
   not block writers.
"""

from collections.abc import Iterator
from datetime import UTC, datetime

from forewarn.core import facts as f
from forewarn.core.maintenance import Maintenance, Phase
from forewarn.core.months import Month, month_of
from forewarn.core.reporting import Life, make_report
from forewarn.core.reports import Report
from forewarn.engine.engine import Engine
from forewarn.engine.lookup import every
from forewarn.errors import NotFound
from forewarn.ports import Snapshot, Store

_PAGE = 500
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)

#: The facts that make a maintenance count.
_COUNTING = frozenset(
    {
        f.Announced,
        f.Approved,
        f.Withdrawn,
        f.Started,
        f.WorkFailed,
        f.WorkRetried,
        f.WorkEnded,
        f.Completed,
        f.Canceled,
        f.Closed,
    }
)


def report_on(engine: Engine, month: Month | None, group: str | None = None) -> Report:
    """Report on `month`, or on the current one, for all groups or for one."""
    engine.write_notes()
    with engine.store.snapshot() as snapshot:
        now = engine.now(snapshot)
        month = month or month_of(now)
        begin = snapshot.position_before(month.since)
        end = snapshot.position_before(month.until)
        outages = snapshot.outages(_BEGINNING)
        stuck = [
            maintenance.id
            for maintenance in every(snapshot, Phase.STARTED)
            if maintenance.stuck_since
        ]
        spelling = None if group is None else _written(snapshot, group)
    lives = _lives(engine.store, month, begin, end, stuck)
    report = make_report(lives, outages, month, now=now, group=spelling or group)
    if group is not None and spelling is None and not report.counts:
        raise NotFound(f"there is no group {group}")
    return report


def _written(snapshot: Snapshot, group: str) -> str | None:
    """Return the declared spelling of `group`; None if it no longer exists."""
    return next(iter(snapshot.part_of_fleet(groups=[group]).groups), None)


def _lives(
    store: Store, month: Month, begin: int, end: int, stuck: list[str]
) -> Iterator[Life]:
    """Yield each life in the journal between two positions, once."""
    done: set[str] = set()
    position = begin
    while position < end:
        with store.snapshot() as snapshot:
            page = snapshot.told_of(
                after=position, until=end, limit=_PAGE, kinds=_COUNTING
            )
            ids = dict.fromkeys(maintenance_id for _, maintenance_id in page)
            lives = [
                _life(snapshot, maintenance_id, month)
                for maintenance_id in ids
                if maintenance_id not in done
            ]
        yield from lives
        done.update(ids)
        position = page[-1][0] if len(page) == _PAGE else end
    with store.snapshot() as snapshot:
        lives = [
            _life(snapshot, maintenance_id, month)
            for maintenance_id in stuck
            if maintenance_id not in done
        ]
    yield from lives


def _life(snapshot: Snapshot, maintenance_id: str, month: Month) -> Life:
    maintenance = snapshot.maintenance(maintenance_id)
    if maintenance is None:
        raise LookupError(f"the journal tells of {maintenance_id}, which is not there")
    first_seen = {}
    if month.has(maintenance.started_at):
        for event in maintenance.events:
            for sight in snapshot.seen(event.id)[:1]:  # in order of time
                first_seen[event.id] = sight.at
    facts: tuple[f.Fact, ...] = ()
    if _may_have_been_stuck(maintenance):
        facts = tuple(entry.fact for entry in snapshot.facts_of(maintenance.id))
    return Life(maintenance=maintenance, first_seen=first_seen, facts=facts)


def _may_have_been_stuck(maintenance: Maintenance) -> bool:
    """Whether the driver may have failed; otherwise its facts are not needed."""
    return (
        maintenance.attempt > 1
        or maintenance.stuck_since is not None
        or maintenance.completed_by is not None
        or maintenance.phase is Phase.FAILED
    )
