"""SQL store for the state and the journal, both written in transactions.

1. A step is saved as the difference of two slices, row by row.
2. A fact's position is assigned in the transaction that appends the fact. The counter's
   row serializes all writers.
3. The methods are documented in `ports`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from datetime import datetime

from forewarn.core.lifecycle.facts import (
    Announced,
    Fact,
    JournalEntry,
    Seen,
    Sight,
)
from forewarn.core.lifecycle.model import Slice
from forewarn.core.lifecycle.settlement import Step
from forewarn.core.tokens import Token
from forewarn.errors import Unavailable
from forewarn.ports import Receipt, Snapshot, Transaction
from forewarn.stores import rows
from forewarn.stores import statements as sql
from forewarn.stores.database import Database, StatementRunner
from forewarn.stores.rows import Parameters
from forewarn.stores.snapshot import SqlSnapshot

_Named = tuple[Callable[..., Parameters], sql.Statement, sql.Statement, sql.Statement]

#: Fields of a slice that are saved by name: row, insert, update and delete.
_NAMED: Mapping[str, _Named] = {
    "hosts": (rows.host_row, sql.ADD_HOST, sql.SET_HOST, sql.DROP_HOST),
    "groups": (rows.group_row, sql.ADD_GROUP, sql.SET_GROUP, sql.DROP_GROUP),
    "vms": (rows.vm_row, sql.ADD_VM, sql.SET_VM, sql.DROP_VM),
    "audiences": (asdict, sql.ADD_AUDIENCE, sql.SET_AUDIENCE, sql.DROP_AUDIENCE),
}


class SqlStore:
    """State and journal in a `Database`."""

    def __init__(self, database: Database) -> None:
        """Create a store in `database`; call `open` to connect."""
        self._database = database
        self._position = 0  # position after the last commit since `open`

    def open(self) -> None:
        """Connect."""
        self._database.open()
        self._position = 0

    @property
    def name(self) -> str:
        """The name of the database, without its password."""
        return self._database.name

    def leave(self) -> None:
        """End running operations soon; call `close` afterward."""
        self._database.leave()

    def close(self) -> None:
        """Disconnect."""
        self._database.close()

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        with self._database.writing() as cursor:
            transaction = SqlTransaction(
                StatementRunner(cursor, self._database.dialect)
            )
            self._refuse_the_past(transaction.position())
            yield transaction
            position = transaction.position()
        self._position = position

    def _refuse_the_past(self, position: int) -> None:
        """Raise `Unavailable` if facts that readers have read are missing."""
        if position < self._position:
            raise Unavailable(
                f"the store's journal position went backward from {self._position}"
                f" to {position}, which can happen after a backup is restored;"
                " restart forewarn"
            )

    @contextmanager
    def snapshot(self) -> Iterator[Snapshot]:
        with self._database.reading() as cursor:
            yield SqlSnapshot(StatementRunner(cursor, self._database.dialect))

    def facts(self, after: int, limit: int) -> Sequence[JournalEntry]:
        with self._database.reading() as cursor:
            session = StatementRunner(cursor, self._database.dialect)
            records = session.rows(sql.FACTS, after=after, most=limit)
        return [rows.entry(row) for row in records]


class SqlTransaction(SqlSnapshot):
    """A writable snapshot."""

    _COUNTER = sql.TAKE_COUNTER  # serializes all writers

    def save(
        self, before: Slice, step: Step, moments: Mapping[str, datetime | None]
    ) -> int:
        different = {
            name: moment
            for name, moment in moments.items()
            if name not in self._moments or self._moments[name] != moment
        }
        all_moments = {**self._moments, **moments}
        ordinal = _save_slice(
            self._session,
            before,
            step.slice,
            all_moments,
            different,
            self._counter.ordinal,
        )
        numbers = [
            fact.announced.number for fact in step.facts if isinstance(fact, Announced)
        ]
        self._counter = replace(
            self._counter,
            ordinal=ordinal,
            number=max(self._counter.number, *numbers, 0),
        )
        self._moments.update(moments)
        self._append(step.facts)
        return self._counter.position

    def save_observations(
        self, polled: Mapping[str, datetime], sights: Sequence[Sight], at: datetime
    ) -> None:
        self._session.run_many(
            sql.SET_ASKED,
            [{"of": name, "asked": rows.micros(when)} for name, when in polled.items()],
        )
        fresh = self._fresh(sights)
        if fresh:
            self._session.run_many(
                sql.ADD_SEEN,
                [
                    {"event": sight.event, "vm": sight.vm, "at": rows.micros(sight.at)}
                    for sight in fresh
                ],
            )
            self._append([Seen(at=at, sights=tuple(fresh))])

    def _fresh(self, sights: Sequence[Sight]) -> list[Sight]:
        recorded = {
            (old.event, old.vm)
            for event in {sight.event for sight in sights}
            for old in self.seen(event)
        }
        fresh = {(sight.event, sight.vm): sight for sight in reversed(sights)}
        return [
            sight for pair, sight in reversed(fresh.items()) if pair not in recorded
        ]

    def keep(self, name: str, value: str) -> None:
        self._session.run(sql.DROP_SETTING, of=name)
        self._session.run(sql.ADD_SETTING, name=name, value=value)

    def keep_receipt(self, receipt: Receipt, *, forget_before: datetime) -> None:
        before = rows.micros(forget_before)
        self._session.run(sql.DROP_RECEIPTS, of=receipt.key, before=before)
        self._session.run(
            sql.ADD_RECEIPT,
            key=receipt.key,
            digest=receipt.digest,
            answer=receipt.answer,
            at=rows.micros(receipt.at),
        )

    def keep_token(self, token: Token) -> None:
        row = rows.token_row(token)
        others = {name: row[name] for name in row if name != "id"}
        if not self._session.run(sql.SET_TOKEN, of=token.id, **others):
            # Unique, because its TokenCreated fact follows and advances the position.
            self._session.run(sql.ADD_TOKEN, ordinal=self.position(), **row)

    def save_token_uses(self, used: Mapping[str, datetime]) -> None:
        self._session.run_many(
            sql.SET_USED,
            [{"of": name, "used": rows.micros(when)} for name, when in used.items()],
        )

    def probe(self) -> None:
        for statement in sql.PROBES:
            self._session.run(statement)

    def _append(self, facts: Sequence[Fact]) -> None:
        if not facts:
            return
        position, last_at = self._counter.position, self._counter.last_at
        written = [
            rows.fact_row(number, fact)
            for number, fact in enumerate(facts, position + 1)
        ]
        self._session.run_many(sql.ADD_FACT, written)
        self._session.run_many(
            sql.ADD_CONCERNED, [*rows.concerned_rows(position + 1, facts)]
        )
        times = [fact.at for fact in facts]
        last_at = max([*times, last_at] if last_at else times, default=last_at)
        self._counter = replace(
            self._counter, position=position + len(facts), last_at=last_at
        )
        self._session.run(
            sql.SET_COUNTER,
            to=self._counter.position,
            last=rows.optional_micros(last_at),
            next=self._counter.ordinal,
            newest=self._counter.number,
        )


# --- difference of two slices ------------------------------------------------


def _save_slice(
    session: StatementRunner,
    before: Slice,
    after: Slice,
    moments: Mapping[str, datetime | None],
    moved: Mapping[str, datetime | None],
    ordinal: int,
) -> int:
    """Save all differences; number new rows from `ordinal` and return the last number.

    `moments` contains the next timer of every maintenance operation in `after`. `moved`
    contains only the timers that differ from the store.
    """
    session.run_many(
        sql.SET_MOMENT,
        [{"of": name, "to": rows.optional_micros(at)} for name, at in moved.items()],
    )
    session.run_many(sql.DROP_ADDRESSES, _vms_that_changed(before, after))
    for field in _NAMED:
        ordinal = _save_named(session, field, before, after, ordinal)
    session.run_many(
        sql.ADD_ADDRESS,
        [
            {"address": address, "vm": vm.name}
            for vm in after.vms.values()
            if before.vms.get(vm.name) is not vm
            for address in vm.addresses
        ],
    )
    session.run_many(
        sql.ADD_OUTAGE,
        [
            rows.outage_row(outage)
            for outage in after.outages
            if outage not in before.outages
        ],
    )
    return _put_maintenances(session, before, after, moments, ordinal)


def _vms_that_changed(before: Slice, after: Slice) -> Sequence[Parameters]:
    return [
        {"of": name} for name, vm in before.vms.items() if after.vms.get(name) is not vm
    ]


def _save_named(
    session: StatementRunner, field: str, before: Slice, after: Slice, ordinal: int
) -> int:
    row, add, change, drop = _NAMED[field]
    old, new = getattr(before, field), getattr(after, field)
    added: list[Parameters] = []
    changed: list[Parameters] = []
    for name, value in new.items():
        if name not in old:
            ordinal += 1
            added.append({**row(value), "ordinal": ordinal})
        elif old[name] is not value:
            changed.append({**row(value), "of": name})
    session.run_many(drop, [{"of": name} for name in old if name not in new])
    session.run_many(add, added)
    session.run_many(change, changed)
    return ordinal


def _put_maintenances(
    session: StatementRunner,
    before: Slice,
    after: Slice,
    moments: Mapping[str, datetime | None],
    ordinal: int,
) -> int:
    for maintenance in after.maintenances.values():
        earlier = before.maintenances.get(maintenance.id)
        if earlier is maintenance:
            continue
        row = rows.maintenance_row(maintenance, moments.get(maintenance.id))
        if earlier is not None:
            session.run(sql.SET_MAINTENANCE, of=maintenance.id, **row)
        else:
            ordinal += 1
            session.run(sql.ADD_MAINTENANCE, ordinal=ordinal, **row)
            session.run_many(
                sql.ADD_INVOLVED,
                [
                    {"group": group, "maintenance": maintenance.id, "live": True}
                    for group in maintenance.groups
                ],
            )
            session.run_many(
                sql.ADD_EVENT,
                [
                    {"id": event.id, "maintenance": maintenance.id}
                    for event in maintenance.events
                ],
            )
        if not maintenance.phase.is_live:
            session.run(sql.SET_OVER, of=maintenance.id)
    return ordinal
