"""Journal search, page by page.

1. Times and maintenance ids are looked up by index, and kinds of facts by the store.
   All other filters read the facts in order.
2. One page reads at most `MOST` facts and has the store scan at most `REACH`. It ends
   there, with whatever was found.
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

#: The most facts that one page reads.
MOST = 5_000

#: The most facts that the store scans for one page.
REACH = 100_000

_BATCH = 500
_KNOWN = 2_000  # maintenance operations cached per page


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The entries of one page, and the position it reached."""

    entries: tuple[Entry, ...]
    position: int
    has_more: bool  # whether the requested time range goes on


def resolve(snapshot: Snapshot, search: Search, *, only: str | None = None) -> Search:
    """Replace event ids in `search` by maintenance ids.

    If `only` names a group, maintenance of other groups is not found.
    """
    ids = search.maintenances
    maintenances = (find_maintenance(snapshot, each, only=only) for each in ids)
    return replace(search, maintenances=frozenset(each.id for each in maintenances))


def find(
    snapshot: Snapshot,
    search: Search,
    *,
    after: int,
    limit: int,
    only: str | None = None,
    most: int = MOST,
) -> Found:
    """Find up to `limit` facts after `after`, reading about `most` facts at most.

    If `only` names a group, each fact is redacted for it before it is matched.
    """
    position, end = _bounds(snapshot, search, after)
    stop = end if search.maintenances else min(end, position + REACH)
    is_all = search == Search() and only is None
    size = min(_BATCH, limit) if is_all else min(_BATCH, most)
    select = _selecting(snapshot, search, only)
    entries: list[Entry] = []
    read = 0
    while position < stop and len(entries) < limit and read < most:
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
    return Found(
        entries=tuple(entries[:limit]), position=position, has_more=position < end
    )


def find_newest(
    snapshot: Snapshot,
    search: Search,
    *,
    before: int | None,  # None for the end of the journal
    limit: int,
    only: str | None = None,
    most: int = MOST,
) -> Found:
    """Find up to `limit` facts before `before`, newest first."""
    begin, end = _bounds(snapshot, search, 0)
    position = end if before is None else min(end, before - 1)
    stop = max(begin, position - REACH)
    select = _selecting(snapshot, search, only)
    entries: list[Entry] = []
    read = 0
    while position > stop and len(entries) < limit and read < most:
        below = max(stop, position - min(_BATCH, most))
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
    return Found(
        entries=tuple(entries[:limit]), position=position + 1, has_more=position > begin
    )


def _selecting(
    snapshot: Snapshot, search: Search, only: str | None
) -> Callable[[Iterable[Entry]], Iterator[Entry]]:
    """Return a function that redacts entries and yields those that match."""
    whole = lru_cache(_KNOWN)(snapshot.maintenance)

    def look(any_id: str) -> Maintenance | None:
        maintenance = whole(any_id)
        return (
            maintenance
            if only is None or maintenance is None
            else share_of(maintenance, only)
        )

    def select(batch: Iterable[Entry]) -> Iterator[Entry]:
        for entry in batch:
            fact: Fact | None = entry.fact
            if only is not None:
                fact = share_of_fact(entry.fact, only, whole)
            if fact is not None and matches(search, fact, look):
                yield Entry(position=entry.position, fact=fact)

    return select


def _kinds(search: Search) -> Collection[type[Fact]]:
    """Return the kinds of facts that `search` can match; empty for any."""
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
