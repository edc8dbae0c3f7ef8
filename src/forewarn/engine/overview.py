"""Overview of maintenance operations with their details, page by page.

1. Pages contain live maintenance in order of announcement, followed by maintenance that
   has ended since a given time, latest first.
2. For a page of ended maintenance, the store scans at most `REACH` facts. The page may
   contain few items or none even if more follow.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from forewarn.core.lifecycle.commands import PossibleCommand, possible_commands
from forewarn.core.lifecycle.facts import Canceled, Closed, Completed, Sight
from forewarn.core.lifecycle.model import Maintenance, Phase
from forewarn.core.queries.explanation import Explanation
from forewarn.core.queries.visibility import shown_maintenance, visible_maintenance
from forewarn.engine.engine import Engine
from forewarn.engine.lookup import find_maintenance
from forewarn.engine.queries import REACH, explain_all
from forewarn.errors import NotFound
from forewarn.ports import Snapshot

#: The number of waits that each item always includes. Hundreds of queued operations
#: have tens of thousands of waits, because each operation waits for all earlier ones.
WAITS = 20

#: Facts that end a maintenance operation.
ENDS = (Completed, Canceled, Closed)
_LIVE = (Phase.SCHEDULED, Phase.STARTED)
_AT_ONCE = 1_000  # journal positions per query


@dataclass(frozen=True, slots=True, kw_only=True)
class OverviewItem:
    """One maintenance operation with its details."""

    maintenance: Maintenance
    explanation: Explanation
    choices: tuple[PossibleCommand, ...]
    sights: tuple[Sight, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PageCursor:
    """The cursor of a page. The default is that of the first page."""

    ordinal: int = 0  # end of the live maintenance shown
    before: int | None = None  # end of the ended items; None while live items remain


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """One page of the overview, at one moment."""

    position: int
    now: datetime
    items: tuple[OverviewItem, ...]
    next: PageCursor | None = None  # None if this is the last page


@dataclass(frozen=True, slots=True, kw_only=True)
class _Page:
    maintenances: Sequence[Maintenance]
    next: PageCursor | None


def show_named(
    engine: Engine, ids: Iterable[str], *, group: str | None = None
) -> Overview:
    """Show the maintenance with these IDs or event IDs; skip unknown IDs."""
    engine.save_observations()
    with engine.store.snapshot() as snapshot:
        named = {
            maintenance.id: maintenance for maintenance in _named(snapshot, ids, group)
        }
        return _overview(
            engine, snapshot, _Page(maintenances=[*named.values()], next=None), group
        )


def show_page(
    engine: Engine,
    *,
    since: datetime | None,
    place: PageCursor,
    limit: int,
    group: str | None = None,
) -> Overview:
    """Show live maintenance and, with `since`, maintenance that ended since then."""
    engine.save_observations()
    with engine.store.snapshot() as snapshot:
        page = _page(snapshot, since, place, limit, group)
        return _overview(engine, snapshot, page, group)


# --- queries -----------------------------------------------------------------


def _named(
    snapshot: Snapshot, ids: Iterable[str], group: str | None
) -> Iterator[Maintenance]:
    for any_id in ids:
        with suppress(NotFound):
            yield find_maintenance(snapshot, any_id, group=group)


def _page(
    snapshot: Snapshot,
    since: datetime | None,
    place: PageCursor,
    limit: int,
    group: str | None,
) -> _Page:
    live: Sequence[tuple[int, Maintenance]] = ()
    if place.before is None:
        live = snapshot.maintenances(
            phases=_LIVE, after=place.ordinal, limit=limit + 1, group=group
        )
    maintenances = [maintenance for _, maintenance in live[:limit]]
    if len(live) > limit:
        return _Page(
            maintenances=maintenances, next=PageCursor(ordinal=live[limit - 1][0])
        )
    if since is None:
        return _Page(maintenances=maintenances, next=None)
    before = snapshot.position() + 1 if place.before is None else place.before
    ended = _ended(snapshot, since, before, limit - len(maintenances), group)
    return replace(ended, maintenances=[*maintenances, *ended.maintenances])


def _ended(
    snapshot: Snapshot, since: datetime, before: int, limit: int, group: str | None
) -> _Page:
    """Find maintenance that ended since `since` and before a position, latest first."""
    begin = snapshot.position_before(since)
    position = min(before - 1, snapshot.position())
    stop = max(begin, position - REACH)
    matches: list[tuple[int, Maintenance]] = []
    while position > stop and len(matches) < limit:
        below = max(stop, position - _AT_ONCE)
        ends = snapshot.maintenances_in(
            after=below, until=position, limit=_AT_ONCE, kinds=ENDS
        )
        for at, ended in reversed(ends):
            maintenance = snapshot.maintenance(ended)
            if maintenance is not None and (
                group is None or visible_maintenance(maintenance, group)
            ):
                matches.append((at, maintenance))
            if len(matches) == limit:
                below = at - 1
                break
        position = below
    return _Page(
        maintenances=[maintenance for _, maintenance in matches],
        next=PageCursor(before=position + 1) if position > begin else None,
    )


# --- details -----------------------------------------------------------------


def _overview(
    engine: Engine, snapshot: Snapshot, page: _Page, group: str | None
) -> Overview:
    now = engine.now(snapshot)
    explained = explain_all(
        snapshot, page.maintenances, now, engine.rules, group, WAITS
    )
    shown = [shown_maintenance(maintenance, group) for maintenance in page.maintenances]
    sights = _sights(snapshot, shown)
    return Overview(
        position=snapshot.position(),
        now=now,
        items=tuple(
            OverviewItem(
                maintenance=maintenance,
                explanation=explained[maintenance.id],
                choices=possible_commands(maintenance),
                sights=tuple(sights.get(maintenance.id, ())),
            )
            for maintenance in shown
        ),
        next=page.next,
    )


def _sights(
    snapshot: Snapshot, shown: Iterable[Maintenance]
) -> Mapping[str, Sequence[Sight]]:
    """Return when VMs first saw events, in order, keyed by maintenance ID."""
    owners = {
        event.id: maintenance.id
        for maintenance in shown
        for event in maintenance.events
    }
    sights: dict[str, list[Sight]] = {}
    for sight in snapshot.seen(*owners):
        sights.setdefault(owners[sight.event], []).append(sight)
    return sights
