"""Queries of the journal table."""

from bisect import bisect_left
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from itertools import zip_longest
from typing import TypedDict

from forewarn.core.facts import Entry, Fact
from forewarn.stores import rows
from forewarn.stores import statements as sql
from forewarn.stores.database import Session


class Where(TypedDict):
    """A range of the journal: the first `most` after `after`, up to `until`."""

    after: int
    until: int
    most: int


def position_before(session: Session, moment: datetime, *, end: int) -> int:
    """Return the last position up to `end` before `moment`, by binary search."""

    def at(position: int) -> int:
        row = session.row(sql.FACT_AT, of=position)
        if row is None:
            raise LookupError(f"the journal has no position {position}")
        return int(str(row[0]))

    return bisect_left(range(1, end + 1), rows.micros(moment), key=at)


def facts(
    session: Session, where: Where, kinds: Collection[type[Fact]]
) -> Sequence[Entry]:
    """Return the facts of these kinds, or all."""
    if kinds:
        records = session.rows(sql.FACTS_OF_KINDS, **where, **_named(kinds))
    else:
        records = session.rows(sql.FACTS_BETWEEN, **where)
    return [*map(rows.entry, records)]


def facts_of_maintenances(
    session: Session, where: Where, maintenances: Collection[str]
) -> Sequence[Entry]:
    """Return the facts of these maintenance operations."""
    entries = [
        rows.entry(row)
        for maintenance_id in maintenances
        for row in session.rows(sql.FACTS_OF_BETWEEN, of=maintenance_id, **where)
    ]
    return sorted(entries, key=lambda entry: entry.position)[: where["most"]]


def told_of(
    session: Session, where: Where, kinds: Collection[type[Fact]]
) -> Sequence[tuple[int, str]]:
    """Return the maintenance ids in the facts of these kinds, with their positions."""
    records = session.rows(sql.FACTS_OF_KINDS, **where, **_named(kinds))
    return [*map(rows.told_of, records)]


def _named(kinds: Collection[type[Fact]]) -> Mapping[str, str]:
    """Return the statement's parameters for `kinds`; unused ones are empty."""
    names = sorted({kind.__name__ for kind in kinds})
    return dict(zip_longest(sql.KINDS, names, fillvalue=""))
