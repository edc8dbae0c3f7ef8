"""The journal, searched page by page.

Times and maintenances are found at their place, kinds of facts by the store; whatever
else is asked for, facts are read and looked at in order. No page reads more than `MOST`
facts, nor lets the store pass over more than `REACH`: it ends there, with whatever was
found.
"""

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from forewarn.core.facts import Entry, Fact
from forewarn.core.maintenance import Maintenance
from forewarn.core.searching import NAMING, Search, matches
from forewarn.core.share import share_of, share_of_fact
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


def resolve(snapshot: Snapshot, search: Search, *, only: str | None = None) -> Search:
    """Turn the ids that `search` names, which may be events', into maintenances'.

    If it is `only` for one group, those of others do not exist.
    """
    ids = search.maintenances
    found = (find_maintenance(snapshot, each, only=only) for each in ids)
    return replace(search, maintenances=frozenset(each.id for each in found))


def find(
    snapshot: Snapshot,
    search: Search,
    *,
    after: int,
    limit: int,
    only: str | None = None,
    most: int = MOST,
) -> Found:
    """Find up to `limit` facts behind `after`; read no more than `most` or so.

    If it is `only` for one group, each fact is cut to what that group may know,
    before anything is looked for in it.
    """
    position, end = _bounds(snapshot, search, after)
    stop = end if search.maintenances else min(end, position + REACH)
    is_all = search == Search() and only is None
    size = min(_BATCH, limit) if is_all else min(_BATCH, most)
    select = _selecting(snapshot, search, only)
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
        found += select(batch)
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
    only: str | None = None,
    most: int = MOST,
) -> Found:
    """Find up to `limit` facts before `before`, the newest of them first."""
    begin, end = _bounds(snapshot, search, 0)
    position = end if before is None else min(end, before - 1)
    stop = max(begin, position - REACH)
    select = _selecting(snapshot, search, only)
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
        found += select(batch[::-1])
        position = below
        read += len(batch)
    if len(found) >= limit:
        position = found[limit - 1].position - 1
    return Found(
        entries=tuple(found[:limit]), position=position + 1, has_more=position > begin
    )


def _selecting(
    snapshot: Snapshot, search: Search, only: str | None
) -> Callable[[Iterable[Entry]], Iterator[Entry]]:
    """Make what picks the entries that are asked for, as far as they may be known."""
    whole = lru_cache(_KNOWN)(snapshot.maintenance)

    def look(any_id: str) -> Maintenance | None:
        found = whole(any_id)
        return found if only is None or found is None else share_of(found, only)

    def select(batch: Iterable[Entry]) -> Iterator[Entry]:
        for entry in batch:
            fact: Fact | None = entry.fact
            if only is not None:
                fact = share_of_fact(entry.fact, only, whole)
            if fact is not None and matches(search, fact, look):
                yield Entry(position=entry.position, fact=fact)

    return select


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
