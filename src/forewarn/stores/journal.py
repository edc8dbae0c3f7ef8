"""Parts of the journal, read where they are."""

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
    """A part of the journal: the first `most` behind `after`, up to `until`."""

    after: int
    until: int
    most: int


def position_before(session: Session, moment: datetime, *, end: int) -> int:
    """Find how far a journal up to `end` went before `moment`, by halving."""

    def at(position: int) -> int:
        row = session.row(sql.FACT_AT, of=position)
        if row is None:
            raise LookupError(f"the journal has no position {position}")
        return int(str(row[0]))

    return bisect_left(range(1, end + 1), rows.micros(moment), key=at)


def facts(
    session: Session, where: Where, kinds: Collection[type[Fact]]
) -> Sequence[Entry]:
    """Read the facts of these kinds, or all."""
    if kinds:
        found = session.rows(sql.FACTS_OF_KINDS, **where, **_named(kinds))
    else:
        found = session.rows(sql.FACTS_BETWEEN, **where)
    return [*map(rows.entry, found)]


def facts_of_maintenances(
    session: Session, where: Where, maintenances: Collection[str]
) -> Sequence[Entry]:
    """Read the facts of these maintenances."""
    found = [
        rows.entry(row)
        for each in maintenances
        for row in session.rows(sql.FACTS_OF_BETWEEN, of=each, **where)
    ]
    return sorted(found, key=lambda entry: entry.position)[: where["most"]]


def told_of(
    session: Session, where: Where, kinds: Collection[type[Fact]]
) -> Sequence[tuple[int, str]]:
    """Read which maintenances the facts of these kinds tell of."""
    found = session.rows(sql.FACTS_OF_KINDS, **where, **_named(kinds))
    return [*map(rows.told_of, found)]


def _named(kinds: Collection[type[Fact]]) -> Mapping[str, str]:
    """Name the kinds of facts that are asked for; a place that is left is empty."""
    names = sorted({each.__name__ for each in kinds})
    return dict(zip_longest(sql.KINDS, names, fillvalue=""))
