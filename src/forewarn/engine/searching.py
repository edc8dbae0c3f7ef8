"""The journal, searched page by page.

Times and maintenances are found at their place, kinds of facts by the store; whatever
else is asked for, facts are read and looked at in order. No page reads more than `MOST`
facts, nor lets the store pass over more than `REACH`: it ends there, with whatever was
found.
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from functools import lru_cache

from forewarn.core.facts import Entry, Fact
from forewarn.core.searching import NAMING, Search, matches
from forewarn.engine.lookup import find_maintenance
from forewarn.ports import Snapshot

#: How many facts one page reads.
MOST = 5_000

#: How many facts the store passes over for one page.
REACH = 100_000

_BATCH = 500
_KNOWN = 2_000  # maintenances that a page remembers


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """What one page found, and how far it has looked."""

    entries: tuple[Entry, ...]
    position: int
    has_more: bool  # whether the journal goes on, within the times asked for


def resolve(snapshot: Snapshot, search: Search) -> Search:
    """Turn the ids that `search` names, which may be events', into maintenances'."""
    found = (find_maintenance(snapshot, each) for each in search.maintenances)
    return replace(search, maintenances=frozenset(each.id for each in found))


def find(
    snapshot: Snapshot, search: Search, *, after: int, limit: int, most: int = MOST
) -> Found:
    """Find up to `limit` facts behind `after`; read no more than `most` or so."""
    position, end = _bounds(snapshot, search, after)
    stop = end if search.maintenances else min(end, position + REACH)
    size = min(_BATCH, limit) if search == Search() else min(_BATCH, most)
    look = lru_cache(_KNOWN)(snapshot.maintenance)
    found: list[Entry] = []
    read = 0
    while position < stop and len(found) < limit and read < most:
        batch = snapshot.facts(
            after=position,
            until=stop,
            limit=size,
            kinds=_kinds(search),
            maintenances=search.maintenances,
        )
        found += (each for each in batch if matches(search, each.fact, look))
        position = batch[-1].position if len(batch) == size else stop
        read += len(batch)
    if len(found) >= limit:
        position = found[limit - 1].position
    return Found(
        entries=tuple(found[:limit]), position=position, has_more=position < end
    )


def find_newest(
    snapshot: Snapshot,
    search: Search,
    *,
    before: int | None,  # None: from the end on
    limit: int,
    most: int = MOST,
) -> Found:
    """Find up to `limit` facts before `before`, the newest of them first."""
    begin, end = _bounds(snapshot, search, 0)
    position = end if before is None else min(end, before - 1)
    stop = max(begin, position - REACH)
    look = lru_cache(_KNOWN)(snapshot.maintenance)
    found: list[Entry] = []
    read = 0
    while position > stop and len(found) < limit and read < most:
        below = max(stop, position - min(_BATCH, most))
        batch = snapshot.facts(
            after=below,
            until=position,
            limit=_BATCH,
            kinds=_kinds(search),
            maintenances=search.maintenances,
        )
        found += (each for each in batch[::-1] if matches(search, each.fact, look))
        position = below
        read += len(batch)
    if len(found) >= limit:
        position = found[limit - 1].position - 1
    return Found(
        entries=tuple(found[:limit]), position=position + 1, has_more=position > begin
    )


def _kinds(search: Search) -> Collection[type[Fact]]:
    """Name the kinds of fact that `search` can find; none: any."""
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
