"""Consistency checks for a store, based on invariants that every commit preserves and
that missing rows violate.

1. `find_losses` runs at every start. The function counts and looks up keys and
   reads only live maintenance, so checking a journal with a million entries takes less
   than a second.
2. `find_differences` replays the whole journal and compares the state.
3. Nothing is repaired. Instead, the service does not start, because a repaired store
   would hide that acknowledged events are gone.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice, zip_longest

from sqlalchemy import Column, ColumnElement, exists, func, literal, not_, select, true
from sqlalchemy.engine import Dialect

from forewarn.core.fleet import Group
from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.model import Maintenance, Slice
from forewarn.core.lifecycle.transitions import apply
from forewarn.errors import ForewarnError
from forewarn.stores import rows
from forewarn.stores import statements as sql
from forewarn.stores import tables as t
from forewarn.stores.database import Cursor, StatementRunner
from forewarn.stores.snapshot import SqlSnapshot

_MOST = 10  # maximum number of problems listed
_LONGEST = 300  # characters of a problem, which may quote a damaged value
_BATCH = 1000  # journal entries in memory at a time

#: Errors raised when a damaged value is read or replayed.
_UNREADABLE = (
    *(ForewarnError, ArithmeticError, LookupError),
    *(RecursionError, TypeError, ValueError),
)

_JOURNAL = select(
    *(
        select(aggregate).scalar_subquery()  # separate queries use the index
        for aggregate in (
            func.count(t.journal.c.position),
            func.min(t.journal.c.position),
            func.max(t.journal.c.position),
        )
    )
)
_COUNTERS = select(t.counter.c.position, t.counter.c.ordinal, t.counter.c.number)

#: Each column with the key that all values in the column must refer to.
_REFERENCES: Iterable[tuple[Column[str], Column[str]]] = (
    (t.vms.c.group, t.groups.c.name),
    (t.vms.c.host, t.hosts.c.name),
    (t.addresses.c.vm, t.vms.c.name),
    (t.audiences.c.group, t.groups.c.name),
    (t.events.c.maintenance, t.maintenances.c.id),
    (t.involved.c.maintenance, t.maintenances.c.id),
    (t.concerned.c.maintenance, t.maintenances.c.id),
)
_NUMBERED = (t.hosts, t.groups, t.vms, t.maintenances)


def _missing(column: Column[str], key: Column[str]) -> sql.Statement:
    there = exists().where(key == column)
    return select(column).where(column.is_not(None), not_(there)).limit(1)


def _has_audience(name: ColumnElement[str]) -> ColumnElement[bool]:
    return exists().where(t.audiences.c.name == name)


_MISSING = [
    (f"{key.table.name} lacks {{}}, which {column.table.name} refers to", query)
    for column, key in _REFERENCES
    for query in [_missing(column, key)]
]
_MISSING.append(
    (
        "audiences lacks the audience of VM {}",
        select(t.vms.c.name)
        .where(not_(_has_audience(t.vms.c.group)))
        .where(not_(_has_audience(t.vms.c.group + literal("/") + t.vms.c.name)))
        .limit(1),
    )
)
_ORDINALS = {table.name: select(func.max(table.c.ordinal)) for table in _NUMBERED}
_NUMBER = select(func.max(t.maintenances.c.number))
_LIVE_GROUPS = select(t.involved.c.group, t.involved.c.maintenance).where(
    t.involved.c.live == true()
)
_EVENTS = select(t.events.c.id).where(
    t.events.c.id.in_([sql.p(id_) for id_ in sql.IDS])
)
_COUNTS = {
    table.name: select(func.count()).select_from(table)
    for table in (
        *(t.addresses, t.concerned, t.events, t.involved),
        *(t.maintenances, t.outages, t.seen, t.tokens),
    )
}


def find_problems(cursor: Cursor, dialect: Dialect) -> list[str]:
    """Replay the journal and return the store's first problems, each as a clause."""
    session = StatementRunner(cursor, dialect)
    losses = [*islice(find_losses(session), _MOST)]
    return losses or [*islice(find_differences(session), _MOST)]


def find_losses(session: StatementRunner) -> Iterator[str]:
    """Yield the losses revealed by counts and keys."""
    return _bounded(_losses(session))


def find_differences(session: StatementRunner) -> Iterator[str]:
    """Replay the journal; yield differences from the stored state."""
    return _bounded(_differences(session))


def _bounded(problems: Iterator[str]) -> Iterator[str]:
    """Yield shortened `problems`; an unreadable row ends them as the last problem."""
    try:
        for problem in problems:
            yield _shortened(problem)
    except _UNREADABLE as error:
        yield _shortened(f"a row cannot be read: {error!r}")


def _shortened(problem: str) -> str:
    return problem if len(problem) <= _LONGEST else f"{problem[:_LONGEST]}…"


def _losses(session: StatementRunner) -> Iterator[str]:
    counters = session.rows(_COUNTERS)
    if len(counters) != 1:
        yield f"counter has {len(counters)} rows instead of 1"
        return
    position, ordinal, number = (int(str(value)) for value in counters[0])
    yield from _journal_losses(session, position)
    for name, newest in _ORDINALS.items():
        (highest,) = session.row(newest) or (None,)
        if int(str(highest or 0)) > ordinal:
            yield f"counter is at ordinal {ordinal}, but {name} extends to {highest}"
    (highest,) = session.row(_NUMBER) or (None,)
    if int(str(highest or 0)) > number:
        yield f"counter is at number {number}, but maintenances extends to {highest}"
    for clause, query in _MISSING:
        row = session.row(query)
        if row is not None:
            yield clause.format(row[0])
    yield from _live_losses(session)


def _journal_losses(session: StatementRunner, position: int) -> Iterator[str]:
    row = session.row(_JOURNAL) or (0, None, None)
    count, first, last = (int(str(value or 0)) for value in row)
    if last > position:
        yield f"counter is at position {position}, but the journal extends to {last}"
    elif last < position:
        yield f"the journal ends at position {last}, not at {position}"
    if (count and count != last) or first > 1:
        yield f"the journal has {count} entries, but its last position is {last}"


def _live_losses(session: StatementRunner) -> Iterator[str]:
    try:
        items = [rows.maintenance(row) for row in session.rows(sql.LIVE)]
    except _UNREADABLE as error:
        yield f"maintenances has a row that cannot be read: {error!r}"
        return
    live = {item.id: item for item in items}
    pairs = {(str(row[0]), str(row[1])) for row in session.rows(_LIVE_GROUPS)}
    for maintenance in live.values():
        if any((group, maintenance.id) not in pairs for group in maintenance.groups):
            yield (
                "involved lacks a group of the live maintenance operation"
                f" {maintenance.id}"
            )
    for _, name in sorted(pairs):
        if name not in live:
            yield f"maintenance {name} is live in involved, but maintenances lacks it"
    owners = {event.id: item.id for item in live.values() for event in item.events}
    known = _known_events(session, [*owners])
    for event, name in owners.items():
        if event not in known:
            yield f"events lacks {event}, an event of the live maintenance {name}"


def _known_events(session: StatementRunner, events: list[str]) -> set[str]:
    known: set[str] = set()
    for start in range(0, len(events), len(sql.IDS)):
        named = events[start : start + len(sql.IDS)]
        places = dict(zip_longest(sql.IDS, named, fillvalue=""))
        known |= {str(row[0]) for row in session.rows(_EVENTS, **places)}
    return known


# --- replay ------------------------------------------------------------------


@dataclass(slots=True)
class _Replay:
    """The state implied by the journal. Ended maintenance is yielded and dropped."""

    state: Slice = field(default_factory=Slice)
    counts: Counter[str] = field(default_factory=Counter)  # rows, keyed by table
    revoked: set[str] = field(default_factory=set)  # IDs of tokens
    _ended: list[str] = field(default_factory=list)  # from the previous batch

    def take(self, fact: f.Fact) -> None:
        """Apply `fact` and count the rows that `fact` adds."""
        if isinstance(fact, f.Published):  # most frequent: copy only one audience
            old = Slice(audiences={fact.audience: self.state.audiences[fact.audience]})
            assert isinstance(self.state.audiences, dict)
            self.state.audiences.update(apply(old, fact).audiences)
        else:
            self.state = apply(self.state, fact)
        self.counts.update(_rows_of(fact))
        if isinstance(fact, f.TokenRevoked):
            self.revoked.add(fact.token)

    def release(self) -> Iterator[Maintenance]:
        """Yield and forget maintenance that ended before the last call.

        A transaction can still change maintenance that it ends, so ended maintenance is
        kept for one more batch.
        """
        kept = dict(self.state.maintenances)
        yield from (kept.pop(name) for name in self._ended)
        self._ended = [name for name, item in kept.items() if not item.phase.is_live]
        self.state = replace(self.state, maintenances=kept)


def _rows_of(fact: f.Fact) -> Mapping[str, int]:
    """Return the number of rows that `fact` adds, keyed by table."""
    counts = {"concerned": int(hasattr(fact, "maintenance"))}
    match fact:
        case f.Announced():
            counts["maintenances"] = 1
            counts["events"] = len(fact.announced.events)
            counts["involved"] = len(fact.announced.groups)
        case f.Seen():
            counts["seen"] = len(fact.sights)
        case f.OutageEnded():
            counts["outages"] = 1
        case f.TokenCreated():
            counts["tokens"] = 1
        case _:
            pass
    return counts


def _differences(session: StatementRunner) -> Iterator[str]:
    replay, position = _Replay(), 0
    try:
        while records := session.rows(sql.FACTS, after=position, most=_BATCH):
            for record in records:
                entry = rows.entry(record)
                replay.take(entry.fact)
                position = entry.position
            for ended in replay.release():
                yield from _difference(session, ended)
    except _UNREADABLE as error:
        yield (
            f"the journal cannot be read or replayed after position {position}:"
            f" {type(error).__name__}: {error}"
        )
        return
    for maintenance in replay.state.maintenances.values():
        yield from _difference(session, maintenance)
    yield from _state_differences(session, replay)


def _difference(session: StatementRunner, expected: Maintenance) -> Iterator[str]:
    row = session.row(sql.MAINTENANCE, of=expected.id)
    try:
        if row is None:
            yield f"maintenances lacks {expected.id}"
        elif rows.maintenance(row) != expected:
            yield f"maintenance {expected.id} differs from the journal"
    except _UNREADABLE as error:
        yield f"maintenance {expected.id} cannot be read: {error!r}"


def _state_differences(session: StatementRunner, replay: _Replay) -> Iterator[str]:
    snapshot, state = SqlSnapshot(session), replay.state
    fleet = snapshot.fleet()
    audiences = map(rows.audience, session.rows(sql.AUDIENCES))
    revoked = {token.id for token in snapshot.tokens() if token.revoked_at is not None}
    for name, expected, kept in (
        ("hosts", state.hosts, fleet.hosts),
        ("groups", _without_requests(state.groups), _without_requests(fleet.groups)),
        ("vms", state.vms, fleet.vms),
        ("audiences", state.audiences, {item.name: item for item in audiences}),
        ("revoked tokens", replay.revoked, revoked),
    ):
        if expected != kept:
            yield f"{name} differ from the journal"
    replay.counts["addresses"] = sum(len(vm.addresses) for vm in state.vms.values())
    for name, count in _COUNTS.items():
        (found,) = session.row(count) or (0,)
        if found != replay.counts[name]:
            there = f"{name} has {found} rows"
            yield f"{there}, but the journal implies {replay.counts[name]}"


def _without_requests(groups: Mapping[str, Group]) -> Mapping[str, Group]:
    """Return `groups` without their last requests, which are not in the journal."""
    return {name: replace(group, last_request=None) for name, group in groups.items()}
