"""Queries: explanations, dry runs, stories, searches and the monthly report.

Each query reads snapshots of the store and passes them to `core.queries`.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import lru_cache
from typing import Generic, TypeVar

from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.facts import Fact, JournalEntry, Sight
from forewarn.core.lifecycle.model import Maintenance, Phase, Slice, groups_of
from forewarn.core.lifecycle.policy import Rules
from forewarn.core.lifecycle.settlement import Context
from forewarn.core.queries.effects import NOTICED, Effect, effects
from forewarn.core.queries.explanation import Explanation, explain, explain_preview
from forewarn.core.queries.report import (
    MaintenanceHistory,
    Month,
    MonthlyReport,
    make_report,
    month_of,
)
from forewarn.core.queries.search import NAMING, Search, matches
from forewarn.core.queries.story import Story, story_of
from forewarn.core.queries.visibility import (
    shown_maintenance,
    visible_fact,
    visible_maintenance,
)
from forewarn.engine.engine import Engine
from forewarn.engine.idempotency import IdempotencyKey
from forewarn.engine.lookup import every, find_maintenance
from forewarn.errors import NotFound, Undone
from forewarn.ports import Snapshot, Store

_T = TypeVar("_T")

#: The maximum number of facts that one page of a search reads.
_MAX_READS = 5_000

#: The maximum number of facts that the store scans for one page of a search.
REACH = 100_000

#: The maximum number of facts from which the effects of a dry run are described.
_MOST_FACTS = 10_000

_BATCH = 500  # facts per query of a search
_CACHED = 2_000  # maintenance operations per page
_PAGE = 500  # facts per query of a report
_BEGINNING = datetime(1970, 1, 1, tzinfo=UTC)

#: The facts that make a maintenance operation count in a report.
COUNTED = frozenset(
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


# --- explanations ------------------------------------------------------------


def explain_maintenance(
    engine: Engine, any_id: str, *, group: str | None = None
) -> Explanation:
    """Explain the maintenance operation with this ID or with an event with this ID.

    If `group` is given, the explanation is redacted for that group.
    """
    engine.save_observations()
    with engine.store.snapshot() as snapshot:
        maintenance = find_maintenance(snapshot, any_id, group=group)
        now = engine.now(snapshot)
        is_stuck = maintenance.stuck_since is not None
        entries = snapshot.facts_of(maintenance.id) if is_stuck else ()
        facts = [entry.fact for entry in entries]
        return _explain_one(snapshot, maintenance, facts, now, engine.rules, group)


def _explain_one(
    snapshot: Snapshot,
    maintenance: Maintenance,
    facts: Sequence[Fact],
    now: datetime,
    rules: Rules,
    group: str | None,
) -> Explanation:
    """Explain maintenance that has these facts. Groups do not see the failure."""
    failures = [fact.detail for fact in facts if isinstance(fact, f.WorkFailed)]
    failure = failures[-1] if failures and group is None else ""
    is_waiting = maintenance.phase is Phase.SCHEDULED
    slice_ = snapshot.slice(groups_of([maintenance] if is_waiting else []))
    return explain(slice_, maintenance, now, rules, group, failure=failure)


def explain_all(
    snapshot: Snapshot,
    maintenances: Sequence[Maintenance],
    now: datetime,
    rules: Rules,
    group: str | None = None,
    limit: int | None = None,
) -> Mapping[str, Explanation]:
    """Explain several maintenance operations using a single slice.

    Return the explanations keyed by maintenance ID. Each includes at least the first
    `limit` waits.
    """
    waiting = [
        maintenance
        for maintenance in maintenances
        if maintenance.phase is Phase.SCHEDULED
    ]
    slice_ = snapshot.slice(groups_of(waiting))
    near = _neighborhoods(slice_)
    return {
        maintenance.id: explain(
            near(maintenance), maintenance, now, rules, group, limit
        )
        for maintenance in maintenances
    }


def _neighborhoods(slice_: Slice) -> Callable[[Maintenance], Slice]:
    """Return a function that reduces `slice_` to what one maintenance operation can
    wait for.

    Without this, each of hundreds of explanations would examine the whole slice.
    """
    places = {name: place for place, name in enumerate(slice_.maintenances)}
    members: dict[str, list[str]] = {}
    for other in slice_.maintenances.values():
        for group in other.groups:
            members.setdefault(group, []).append(other.id)

    def near(maintenance: Maintenance) -> Slice:
        names = {
            name for group in maintenance.groups for name in members.get(group, ())
        }
        in_order = sorted(names, key=places.__getitem__)
        return replace(
            slice_, maintenances={name: slice_.maintenances[name] for name in in_order}
        )

    return near


# --- dry runs ----------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Preview:
    """A maintenance operation that would be announced."""

    maintenance: Maintenance
    explanation: Explanation


@dataclass(slots=True, kw_only=True)
class DryRun(Generic[_T]):
    """What a command would do.

    The real command runs in a transaction that is undone, so a dry run is refused
    exactly if the command would be refused. No reader sees anything.
    """

    group: str | None = None  # the group of the caller's token, if any
    is_explained: bool = True  # false if the result already contains all effects
    results: list[_T] = field(default_factory=list)  # at most one
    previews: Sequence[Preview] = ()  # in the order in which they would run
    effects: Sequence[Effect] = ()

    def run(self, command: Callable[..., object], *, by: str) -> None:
        """Run an engine command and undo it; raise what the command would raise."""
        once: IdempotencyKey[_T] = IdempotencyKey(
            key="", digest="", render=self._keep, dry_run=self._observe
        )
        with suppress(Undone):
            command(by=by, once=once)

    def _keep(self, result: _T, snapshot: Snapshot) -> str:
        del snapshot
        self.results.append(result)
        return ""

    def _observe(self, snapshot: Snapshot, before: int, context: Context) -> None:
        if not self.is_explained:
            return
        entries = snapshot.facts(
            after=before, until=snapshot.position(), limit=_MOST_FACTS, kinds=NOTICED
        )
        facts = [entry.fact for entry in entries]
        look = lru_cache(None)(snapshot.maintenance)
        new = [
            look(fact.maintenance) for fact in facts if isinstance(fact, f.Announced)
        ]
        announced = [maintenance for maintenance in new if maintenance is not None]
        slice_ = snapshot.slice(groups_of(announced))
        near, now, rules = _neighborhoods(slice_), context.now, context.rules
        self.previews = [
            Preview(
                maintenance=maintenance,
                explanation=explain_preview(
                    near(maintenance), maintenance, now, rules, self.group
                ),
            )
            for maintenance in sorted(announced, key=lambda item: item.not_before)
        ]
        self.effects = [*effects(facts, look, self.group)]


# --- stories -----------------------------------------------------------------


def story_of_maintenance(
    engine: Engine, any_id: str, *, group: str | None = None
) -> Story:
    """Return the history of the maintenance with this ID or an event with this ID.

    If `group` is given, the history is redacted for that group.
    """
    engine.save_observations()
    with engine.store.snapshot() as snapshot:
        whole = find_maintenance(snapshot, any_id, group=group)
        facts = [entry.fact for entry in snapshot.facts_of(whole.id)]
        if group is not None:
            cut = [visible_fact(fact, group, lambda _: whole) for fact in facts]
            facts = [fact for fact in cut if fact is not None]
        visible = shown_maintenance(whole, group)
        outages = snapshot.outages(visible.announced_at)
        is_share = len(visible.events) < len(whole.events)
        sights = _sights(snapshot, visible)
        now, rules = engine.now(snapshot), engine.rules
        waits = _explain_one(snapshot, whole, facts, now, rules, group).waits
        return story_of(visible, facts, sights, outages, waits=waits, is_share=is_share)


def _sights(snapshot: Snapshot, maintenance: Maintenance) -> list[Sight]:
    return [sight for event in maintenance.events for sight in snapshot.seen(event.id)]


# --- searches ----------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPage:
    """The entries of one page and the position that the search reached."""

    entries: tuple[JournalEntry, ...]
    position: int
    has_more: bool  # whether more of the requested time range follows


def resolve_ids(
    snapshot: Snapshot, search: Search, *, group: str | None = None
) -> Search:
    """Replace what identifies maintenance in `search` with its GUIDs.

    If `group` is given, maintenance in other groups is not found.
    """
    ids = frozenset(
        find_maintenance(snapshot, any_id, group=group).id
        for any_id in search.maintenances
    )
    return replace(search, maintenances=ids)


def find_entries(
    snapshot: Snapshot,
    search: Search,
    *,
    after: int,
    limit: int,
    group: str | None = None,
    max_reads: int = _MAX_READS,
) -> SearchPage:
    """Find up to `limit` facts after the position `after`.

    At most about `max_reads` facts are read. If `group` is given, each fact is redacted
    for that group before it is matched.
    """
    position, end = _bounds(snapshot, search, after)
    stop = end if search.maintenances else min(end, position + REACH)
    is_all = search == Search() and group is None
    size = min(_BATCH, limit) if is_all else min(_BATCH, max_reads)
    select = _selecting(snapshot, search, group)
    entries: list[JournalEntry] = []
    read = 0
    while position < stop and len(entries) < limit and read < max_reads:
        batch = snapshot.facts(
            after=position,
            until=stop,
            limit=size,
            kinds=_kinds(search),
            maintenances=search.maintenances,
        )
        entries += select(batch)
        position = batch[-1].position if len(batch) == size else stop
        read += len(batch)
    if len(entries) >= limit:
        position = entries[limit - 1].position
    return SearchPage(
        entries=tuple(entries[:limit]), position=position, has_more=position < end
    )


def find_newest_entries(
    snapshot: Snapshot,
    search: Search,
    *,
    before: int | None,  # None for the end of the journal
    limit: int,
    group: str | None = None,
    max_reads: int = _MAX_READS,
) -> SearchPage:
    """Find up to `limit` facts before the position `before`, newest first."""
    begin, end = _bounds(snapshot, search, 0)
    position = end if before is None else min(end, before - 1)
    stop = max(begin, position - REACH)
    select = _selecting(snapshot, search, group)
    entries: list[JournalEntry] = []
    read = 0
    while position > stop and len(entries) < limit and read < max_reads:
        below = max(stop, position - min(_BATCH, max_reads))
        batch = snapshot.facts(
            after=below,
            until=position,
            limit=_BATCH,
            kinds=_kinds(search),
            maintenances=search.maintenances,
        )
        entries += select(batch[::-1])
        position = below
        read += len(batch)
    if len(entries) >= limit:
        position = entries[limit - 1].position - 1
    return SearchPage(
        entries=tuple(entries[:limit]), position=position + 1, has_more=position > begin
    )


def _selecting(
    snapshot: Snapshot, search: Search, group: str | None
) -> Callable[[Iterable[JournalEntry]], Iterator[JournalEntry]]:
    """Return a function that redacts entries and yields those that match."""
    whole = lru_cache(_CACHED)(snapshot.maintenance)

    def look(any_id: str) -> Maintenance | None:
        maintenance = whole(any_id)
        return (
            maintenance
            if group is None or maintenance is None
            else visible_maintenance(maintenance, group)
        )

    def select(batch: Iterable[JournalEntry]) -> Iterator[JournalEntry]:
        for entry in batch:
            fact: Fact | None = entry.fact
            if group is not None:
                fact = visible_fact(entry.fact, group, whole)
            if fact is not None and matches(search, fact, look):
                yield JournalEntry(position=entry.position, fact=fact)

    return select


def _kinds(search: Search) -> Collection[type[Fact]]:
    """Return the kinds of facts that `search` can match; empty means any kind."""
    if not search.by:
        return search.kinds
    return search.kinds & NAMING or search.kinds or NAMING


def _bounds(snapshot: Snapshot, search: Search, after: int) -> tuple[int, int]:
    begin, end = after, snapshot.position()
    if search.since is not None:
        begin = max(begin, snapshot.position_before(search.since))
    if search.until is not None:
        end = min(end, snapshot.position_before(search.until))
    return begin, end


# --- monthly report ----------------------------------------------------------


def report_on(
    engine: Engine, month: Month | None, group: str | None = None
) -> MonthlyReport:
    """Return the report for `month`, or for the current month if `month` is None."""
    engine.save_observations()
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
        spelling = None if group is None else _spelling(snapshot, group)
    histories = _histories(engine.store, month, begin, end, stuck)
    report = make_report(histories, outages, month, now=now, group=spelling or group)
    if group is not None and spelling is None and not report.maintenances:
        raise NotFound(f"group {group} not found")
    return report


def _spelling(snapshot: Snapshot, group: str) -> str | None:
    """Return the declared spelling of `group`, or None if it no longer exists."""
    return next(iter(snapshot.part_of_fleet(groups=[group]).groups), None)


def _histories(
    store: Store, month: Month, begin: int, end: int, stuck: list[str]
) -> Iterator[MaintenanceHistory]:
    """Yield each maintenance operation in the journal between two positions, once."""
    done: set[str] = set()
    position = begin
    while position < end:
        with store.snapshot() as snapshot:
            page = snapshot.maintenances_in(
                after=position, until=end, limit=_PAGE, kinds=COUNTED
            )
            ids = dict.fromkeys(maintenance_id for _, maintenance_id in page)
            histories = [
                _history(snapshot, maintenance_id, month)
                for maintenance_id in ids
                if maintenance_id not in done
            ]
        yield from histories
        done.update(ids)
        position = page[-1][0] if len(page) == _PAGE else end
    with store.snapshot() as snapshot:
        histories = [
            _history(snapshot, maintenance_id, month)
            for maintenance_id in stuck
            if maintenance_id not in done
        ]
    yield from histories


def _history(
    snapshot: Snapshot, maintenance_id: str, month: Month
) -> MaintenanceHistory:
    maintenance = snapshot.maintenance(maintenance_id)
    if maintenance is None:
        raise LookupError(f"the journal names {maintenance_id}, which is missing")
    first_seen = {}
    if month.has(maintenance.started_at):
        for event in maintenance.events:
            for sight in snapshot.seen(event.id)[:1]:  # in order of time
                first_seen[event.id] = sight.at
    facts: tuple[f.Fact, ...] = ()
    if _may_have_been_stuck(maintenance):
        facts = tuple(entry.fact for entry in snapshot.facts_of(maintenance.id))
    return MaintenanceHistory(
        maintenance=maintenance, first_seen=first_seen, facts=facts
    )


def _may_have_been_stuck(maintenance: Maintenance) -> bool:
    """Return whether the driver may have failed; otherwise its facts are not needed."""
    return (
        maintenance.attempt > 1
        or maintenance.stuck_since is not None
        or maintenance.completed_by is not None
        or maintenance.phase is Phase.FAILED
    )
