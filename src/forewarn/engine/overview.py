"""What is going on: maintenances with all that is to be said of each, page by page.

Pages hold first what is live, in the order of announcement, and then what has ended
since some time, the latest end first. A page of what has ended lets the store pass over
`REACH` facts at the most: it may hold little, or nothing, though there is more.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from forewarn.core.choices import Choice, choices
from forewarn.core.explaining import Explanation
from forewarn.core.facts import Canceled, Closed, Completed, Sight
from forewarn.core.maintenance import Maintenance, Phase
from forewarn.core.share import share_of
from forewarn.engine.engine import Engine
from forewarn.engine.lookup import find_maintenance
from forewarn.engine.searching import REACH
from forewarn.engine.telling import explain_all
from forewarn.errors import NotFound
from forewarn.ports import Snapshot

#: How much of what each waits for is surely told; hundreds that queue up wait for tens
#: of thousands, each for all before it.
WAITS = 20

_ENDS = (Completed, Canceled, Closed)
_LIVE = (Phase.SCHEDULED, Phase.STARTED)
_AT_ONCE = 1_000  # positions of the journal


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One maintenance, and what is to be said of it."""

    maintenance: Maintenance
    explanation: Explanation
    choices: tuple[Choice, ...]
    sights: tuple[Sight, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """How far pages have come; at first, nowhere."""

    ordinal: int = 0  # what is live is shown up to here
    before: int | None = None  # shown back to this position; None: live ones are left


@dataclass(frozen=True, slots=True, kw_only=True)
class Overview:
    """What there was at one moment."""

    position: int
    now: datetime
    items: tuple[Item, ...]
    next: Place | None = None  # None: that is all


@dataclass(frozen=True, slots=True, kw_only=True)
class _Page:
    found: Sequence[Maintenance]
    next: Place | None


def show_named(
    engine: Engine, ids: Iterable[str], *, only: str | None = None
) -> Overview:
    """Show the maintenances with these ids, or events; unknown ones are left out."""
    engine.write_notes()
    with engine.store.snapshot() as snapshot:
        named = {each.id: each for each in _named(snapshot, ids, only)}
        return _overview(
            engine, snapshot, _Page(found=[*named.values()], next=None), only
        )


def show_page(
    engine: Engine,
    *,
    since: datetime | None,
    place: Place,
    limit: int,
    only: str | None = None,
) -> Overview:
    """Show what is live; if `since` is given, also what has ended since then."""
    engine.write_notes()
    with engine.store.snapshot() as snapshot:
        page = _page(snapshot, since, place, limit, only)
        return _overview(engine, snapshot, page, only)


# --- finding -----------------------------------------------------------------


def _named(
    snapshot: Snapshot, ids: Iterable[str], only: str | None
) -> Iterator[Maintenance]:
    for each in ids:
        with suppress(NotFound):
            yield find_maintenance(snapshot, each, only=only)


def _page(
    snapshot: Snapshot,
    since: datetime | None,
    place: Place,
    limit: int,
    only: str | None,
) -> _Page:
    live: Sequence[tuple[int, Maintenance]] = ()
    if place.before is None:
        live = snapshot.maintenances(
            phases=_LIVE, after=place.ordinal, limit=limit + 1, group=only
        )
    found = [each for _, each in live[:limit]]
    if len(live) > limit:
        return _Page(found=found, next=Place(ordinal=live[limit - 1][0]))
    if since is None:
        return _Page(found=found, next=None)
    before = snapshot.position() + 1 if place.before is None else place.before
    ended = _ended(snapshot, since, before, limit - len(found), only)
    return replace(ended, found=[*found, *ended.found])


def _ended(
    snapshot: Snapshot, since: datetime, before: int, limit: int, only: str | None
) -> _Page:
    """Find what has ended since then and before a position, the latest end first."""
    begin = snapshot.position_before(since)
    position = min(before - 1, snapshot.position())
    stop = max(begin, position - REACH)
    found: list[tuple[int, Maintenance]] = []
    while position > stop and len(found) < limit:
        below = max(stop, position - _AT_ONCE)
        told = snapshot.told_of(
            after=below, until=position, limit=_AT_ONCE, kinds=_ENDS
        )
        for at, ended in reversed(told):
            each = snapshot.maintenance(ended)
            if each is not None and (only is None or share_of(each, only)):
                found.append((at, each))
            if len(found) == limit:
                below = at - 1
                break
        position = below
    return _Page(
        found=[each for _, each in found],
        next=Place(before=position + 1) if position > begin else None,
    )


# --- showing -----------------------------------------------------------------


def _overview(
    engine: Engine, snapshot: Snapshot, page: _Page, only: str | None
) -> Overview:
    now = engine.now(snapshot)
    explained = explain_all(snapshot, page.found, now, engine.rules, only, WAITS)
    shown = [(share_of(each, only) if only else None) or each for each in page.found]
    sights = _sights(snapshot, shown)
    return Overview(
        position=snapshot.position(),
        now=now,
        items=tuple(
            Item(
                maintenance=each,
                explanation=explained[each.id],
                choices=choices(each),
                sights=tuple(sights.get(each.id, ())),
            )
            for each in shown
        ),
        next=page.next,
    )


def _sights(
    snapshot: Snapshot, shown: Iterable[Maintenance]
) -> Mapping[str, Sequence[Sight]]:
    """Find who has seen what, by maintenance, in the order of time."""
    owners = {event.id: each.id for each in shown for event in each.events}
    found: dict[str, list[Sight]] = {}
    for sight in snapshot.seen(*owners):
        found.setdefault(owners[sight.event], []).append(sight)
    return found
