"""All queries of the store, including queries of the journal.

The queries are documented in `ports`.
"""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import zip_longest
from typing import TypeVar

from forewarn.core.fleet import VM, Fleet, Group, Host, fold_name
from forewarn.core.lifecycle.facts import Fact, JournalEntry, Sight
from forewarn.core.lifecycle.model import Maintenance, Phase, Slice, label_of
from forewarn.core.outages import Outage
from forewarn.core.tokens import Token
from forewarn.ports import Receipt
from forewarn.stores import rows
from forewarn.stores import statements as sql
from forewarn.stores.database import StatementRunner

_Value = TypeVar("_Value")


@dataclass(frozen=True, slots=True)
class Counter:
    """The newest entry and the highest numbers that have been assigned."""

    position: int  # of journal entries
    last_at: datetime | None  # None in an empty journal
    ordinal: int  # of rows
    number: int  # of maintenance operations


class SqlSnapshot:
    """A consistent view of the store within one transaction."""

    _COUNTER: sql.Statement = sql.COUNTER

    def __init__(self, session: StatementRunner) -> None:
        """Create a snapshot that queries through `session`."""
        self._session = session
        self._counter = self._read_counter()
        self._moments: dict[str, datetime | None] = {}  # as stored

    def _read_counter(self) -> Counter:
        row = self._session.row(self._COUNTER)
        if row is None:
            raise LookupError("the counter is missing")
        position, last_at, ordinal, number = row
        return Counter(
            position=int(str(position)),
            last_at=rows.optional_moment(last_at),
            ordinal=int(str(ordinal)),
            number=int(str(number)),
        )

    def position(self) -> int:
        return self._counter.position

    def last_at(self) -> datetime | None:
        return self._counter.last_at

    def last_number(self) -> int:
        return self._counter.number

    def position_before(self, moment: datetime) -> int:
        def at(position: int) -> int:
            row = self._session.row(sql.FACT_AT, of=position)
            if row is None:
                raise LookupError(f"the journal has no position {position}")
            return int(str(row[0]))

        return bisect_left(range(1, self.position() + 1), rows.micros(moment), key=at)

    def facts(
        self,
        *,
        after: int,
        until: int,
        limit: int,
        kinds: Collection[type[Fact]] = (),
        maintenances: Collection[str] = (),
    ) -> Sequence[JournalEntry]:
        where = {"after": after, "until": until, "most": limit}
        if maintenances:
            entries = [
                rows.entry(row)
                for name in maintenances
                for row in self._session.rows(sql.FACTS_OF_BETWEEN, of=name, **where)
            ]
            return sorted(entries, key=lambda entry: entry.position)[:limit]
        if kinds:
            records = self._session.rows(
                sql.FACTS_OF_KINDS, **where, **_kind_parameters(kinds)
            )
        else:
            records = self._session.rows(sql.FACTS_BETWEEN, **where)
        return [*map(rows.entry, records)]

    def maintenances_in(
        self, *, after: int, until: int, limit: int, kinds: Collection[type[Fact]]
    ) -> Sequence[tuple[int, str]]:
        records = self._session.rows(
            sql.FACTS_OF_KINDS,
            after=after,
            until=until,
            most=limit,
            **_kind_parameters(kinds),
        )
        return [*map(rows.maintenance_position, records)]

    def fleet(self) -> Fleet:
        hosts = map(rows.host, self._session.rows(sql.HOSTS))
        groups = map(rows.group, self._session.rows(sql.GROUPS))
        vms = map(rows.vm, self._session.rows(sql.VMS))
        return _fleet(hosts, groups, vms)

    def part_of_fleet(
        self,
        *,
        vms: Iterable[str] = (),
        groups: Iterable[str] = (),
        hosts: Iterable[str] = (),
        addresses: Iterable[str] = (),
    ) -> Fleet:
        found_groups = [*self._named(sql.GROUP, rows.group, groups)]
        found_hosts = [*self._named(sql.HOST, rows.host, hosts)]
        at = [self._session.row(sql.VM_AT, of=address) for address in addresses]
        names = [*vms, *(str(row[0]) for row in at if row is not None)]
        found_vms = [*self._named(sql.VM, rows.vm, names)]
        for statement, owners in (
            (sql.VMS_OF_GROUP, [parent.name for parent in found_groups]),
            (sql.VMS_OF_HOST, [parent.name for parent in found_hosts]),
        ):
            for owner in owners:
                members = self._session.rows(statement, of=owner)
                found_vms.extend(map(rows.vm, members))
        of_vms = {vm.group for vm in found_vms}
        on_hosts = {vm.host for vm in found_vms if vm.host is not None}
        return _fleet(
            [*found_hosts, *self._named(sql.HOST, rows.host, sorted(on_hosts))],
            [*found_groups, *self._named(sql.GROUP, rows.group, sorted(of_vms))],
            found_vms,
        )

    def _named(
        self,
        statement: sql.Statement,
        read: Callable[[rows.Row], _Value],
        names: Iterable[str],
    ) -> Iterator[_Value]:
        for name in names:
            row = self._session.row(statement, of=fold_name(name))
            if row is not None:
                yield read(row)

    def hosts(self, *, after: str, limit: int) -> Sequence[Host]:
        page = self._session.rows(sql.HOSTS_PAGE, after=fold_name(after), most=limit)
        return [rows.host(row) for row in page]

    def groups(self, *, after: str, limit: int) -> Sequence[Group]:
        page = self._session.rows(sql.GROUPS_PAGE, after=fold_name(after), most=limit)
        return [rows.group(row) for row in page]

    def vms(self, *, after: str, limit: int) -> Sequence[VM]:
        page = self._session.rows(sql.VMS_PAGE, after=fold_name(after), most=limit)
        return [rows.vm(row) for row in page]

    def slice(self, groups: Iterable[str] | None) -> Slice:
        if groups is None:
            audiences = self._session.rows(sql.AUDIENCES)
            live = self._session.rows(sql.LIVE)
            loaded = [rows.group(row) for row in self._session.rows(sql.GROUPS)]
        else:
            audiences, live, loaded = [], [], []
            for name in sorted(set(groups)):
                loaded.extend(self._named(sql.GROUP, rows.group, [name]))
                audiences.extend(self._session.rows(sql.AUDIENCES_OF_GROUP, of=name))
                live.extend(self._session.rows(sql.LIVE_IN_GROUP, of=name))
        in_order = {int(str(row[0])): row for row in live}
        maintenances = [self._loaded(in_order[number]) for number in sorted(in_order)]
        reach = [maintenance.announced_at for maintenance in maintenances]
        reach += [group.last_request for group in loaded if group.last_request]
        return Slice(
            groups={group.name: group for group in loaded},
            audiences={
                audience.name: audience for audience in map(rows.audience, audiences)
            },
            maintenances={maintenance.id: maintenance for maintenance in maintenances},
            outages=tuple(self.outages(min(reach))) if reach else (),
        )

    def _loaded(self, row: rows.Row) -> Maintenance:
        read = rows.maintenance(row)
        self._moments[read.id] = rows.optional_moment(row[1])
        return read

    def maintenance(self, any_id: str) -> Maintenance | None:
        row = self._session.row(sql.MAINTENANCE, of=any_id)
        row = row or self._session.row(sql.MAINTENANCE_OF_EVENT, of=any_id)
        return None if row is None else rows.maintenance(row)

    def maintenance_number(self, number: int) -> Maintenance | None:
        row = self._session.row(sql.MAINTENANCE_NUMBER, of=number)
        return None if row is None else rows.maintenance(row)

    def maintenances_like(
        self, prefix: str, group: str | None = None
    ) -> Sequence[Maintenance]:
        # IDs contain no character after "~".
        bounds = {"from": prefix, "to": f"{prefix}~"}
        if group is None:
            records = self._session.rows(sql.MAINTENANCES_LIKE, **bounds)
        else:
            records = self._session.rows(
                sql.MAINTENANCES_LIKE_IN_GROUP, group=group, **bounds
            )
        return [rows.maintenance(row) for row in records]

    def labels(self, *maintenances: str) -> Mapping[str, str]:
        records = self._rows_of(sql.NUMBERS, maintenances)
        return {str(row[0]): label_of(int(str(row[1]))) for row in records}

    def maintenances_of(self, *events: str) -> Mapping[str, Maintenance]:
        if len(events) == 1:
            records = self._session.rows(sql.MAINTENANCE_OF_EVENT, of=events[0])
        else:
            records = self._rows_of(sql.MAINTENANCES_OF_EVENTS, events)
        by_event = {
            event.id: maintenance
            for maintenance in map(rows.maintenance, records)
            for event in maintenance.events
        }
        return {event: by_event[event] for event in events if event in by_event}

    def maintenances(
        self,
        *,
        phases: Sequence[Phase],
        after: int,
        limit: int,
        group: str | None = None,
    ) -> Sequence[tuple[int, Maintenance]]:
        any_phase, in_phase, of_group = (
            (sql.MAINTENANCES, sql.MAINTENANCES_IN_PHASE, {})
            if group is None
            else (
                sql.MAINTENANCES_OF_GROUP,
                sql.MAINTENANCES_OF_GROUP_IN_PHASE,
                {"group": group},
            )
        )
        page = {"after": after, "most": limit, **of_group}
        records = [] if phases else [*self._session.rows(any_phase, **page)]
        for phase in phases:
            records += self._session.rows(in_phase, of=phase.value, **page)
        in_order = {int(str(row[0])): row for row in records}
        return [
            (ordinal, rows.maintenance(in_order[ordinal]))
            for ordinal in sorted(in_order)[:limit]
        ]

    def seen(self, *events: str) -> Sequence[Sight]:
        if len(events) == 1:
            return [*map(rows.sight, self._session.rows(sql.SEEN, of=events[0]))]
        sights = map(rows.sight, self._rows_of(sql.SEEN_OF_MANY, events))
        return sorted(sights, key=lambda sight: (sight.at, sight.vm, sight.event))

    def _rows_of(
        self, statement: sql.Statement, ids: Sequence[str]
    ) -> Sequence[rows.Row]:
        """Return the rows with these IDs, with as few queries as possible."""
        records: list[rows.Row] = []
        for start in range(0, len(ids), len(sql.IDS)):
            named = ids[start : start + len(sql.IDS)]
            places = dict(zip_longest(sql.IDS, named, fillvalue=""))
            records += self._session.rows(statement, **places)
        return records

    def facts_of(self, maintenance: str) -> Sequence[JournalEntry]:
        records = self._session.rows(sql.FACTS_OF, of=maintenance)
        return [rows.entry(row) for row in records]

    def outages(self, after: datetime) -> Sequence[Outage]:
        records = self._session.rows(sql.OUTAGES, after=rows.micros(after))
        return [*map(rows.outage, records)]

    def next_moment(self) -> datetime | None:
        row = self._session.row(sql.NEXT_MOMENT)
        return None if row is None else rows.optional_moment(row[0])

    def due(self, now: datetime) -> Sequence[Maintenance]:
        records = self._session.rows(sql.DUE, until=rows.micros(now))
        return [rows.maintenance(row) for row in records]

    def setting(self, name: str) -> str | None:
        row = self._session.row(sql.SETTING, of=name)
        return None if row is None else str(row[0])

    def receipt(self, key: str) -> Receipt | None:
        row = self._session.row(sql.RECEIPT, of=key)
        if row is None:
            return None
        key, digest, answer, at = (str(row[0]), str(row[1]), str(row[2]), row[3])
        return Receipt(key=key, digest=digest, answer=answer, at=rows.moment(at))

    def tokens(self) -> Sequence[Token]:
        return [*map(rows.token, self._session.rows(sql.TOKENS))]


def _fleet(hosts: Iterable[Host], groups: Iterable[Group], vms: Iterable[VM]) -> Fleet:
    return Fleet(
        hosts={member.name: member for member in hosts},
        groups={member.name: member for member in groups},
        vms={member.name: member for member in vms},
    )


def _kind_parameters(kinds: Collection[type[Fact]]) -> Mapping[str, str]:
    """Return the statement's parameters for `kinds`; unused parameters are empty."""
    names = sorted(map(rows.stored_name, {*kinds}))
    return dict(zip_longest(sql.KINDS, names, fillvalue=""))
