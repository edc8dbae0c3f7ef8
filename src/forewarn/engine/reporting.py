"""Reports on months, made by reading the journal of the month.

Everything that counts in a month has left a fact in it, so the journal says which
maintenances to look at. It is read in pages, each in a snapshot of its own: a report
on very many keeps nobody from writing.
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
    """Report on `month`, or on the present one, for all groups or for one."""
    engine.write_notes()
    with engine.store.snapshot() as snapshot:
        now = engine.now(snapshot)
        month = month or month_of(now)
        begin = snapshot.position_before(month.since)
        end = snapshot.position_before(month.until)
        outages = snapshot.outages(_BEGINNING)
        stuck = [each.id for each in every(snapshot, Phase.STARTED) if each.stuck_since]
        known = None if group is None else _written(snapshot, group)
    lives = _lives(engine.store, month, begin, end, stuck)
    made = make_report(lives, outages, month, now=now, group=known or group)
    if group is not None and known is None and not made.counts:
        raise NotFound(f"there is no group {group}")
    return made


def _written(snapshot: Snapshot, group: str) -> str | None:
    """Write the name of `group` as the fleet does; None: it is not there any more."""
    return next(iter(snapshot.part_of_fleet(groups=[group]).groups), None)


def _lives(
    store: Store, month: Month, begin: int, end: int, stuck: list[str]
) -> Iterator[Life]:
    """Find each life that the journal between two positions tells of, once."""
    told: set[str] = set()
    position = begin
    while position < end:
        with store.snapshot() as snapshot:
            page = snapshot.told_of(
                after=position, until=end, limit=_PAGE, kinds=_COUNTING
            )
            ids = dict.fromkeys(each for _, each in page)
            lives = [_life(snapshot, each, month) for each in ids if each not in told]
        yield from lives
        told.update(ids)
        position = page[-1][0] if len(page) == _PAGE else end
    with store.snapshot() as snapshot:
        lives = [_life(snapshot, each, month) for each in stuck if each not in told]
    yield from lives


def _life(snapshot: Snapshot, maintenance_id: str, month: Month) -> Life:
    found = snapshot.maintenance(maintenance_id)
    if found is None:
        raise LookupError(f"the journal tells of {maintenance_id}, which is not there")
    first_seen = {}
    if month.has(found.started_at):
        for event in found.events:
            for sight in snapshot.seen(event.id)[:1]:  # they come in order of time
                first_seen[event.id] = sight.at
    facts: tuple[f.Fact, ...] = ()
    if _may_have_been_stuck(found):
        facts = tuple(entry.fact for entry in snapshot.facts_of(found.id))
    return Life(maintenance=found, first_seen=first_seen, facts=facts)


def _may_have_been_stuck(maintenance: Maintenance) -> bool:
    """Whether the driver may have failed; who was not stuck needs no second look."""
    return (
        maintenance.attempt > 1
        or maintenance.stuck_since is not None
        or maintenance.completed_by is not None
        or maintenance.phase is Phase.FAILED
    )
