"""The store as it is in one transaction: whatever can be asked of it."""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import zip_longest
from typing import TypeVar

from forewarn.core.facts import Entry, Fact, Sight
from forewarn.core.fleet import VM, Fleet, Group, Host, key
from forewarn.core.maintenance import Maintenance, Phase, Slice
from forewarn.core.outages import Outage
from forewarn.core.tokens import Token
from forewarn.ports import Receipt
from forewarn.stores import journal, rows
from forewarn.stores import statements as sql
from forewarn.stores.database import Session

_Value = TypeVar("_Value")


class SqlSnapshot:
    """The store as it is in one transaction."""

    _COUNTER: sql.Statement = sql.COUNTER

    def __init__(self, session: Session) -> None:
        """Ask by `session`."""
        self._session = session
        self._counter = self._read_counter()
        self._moments: dict[str, datetime | None] = {}  # as they are in the store

    def _read_counter(self) -> tuple[int, datetime | None, int]:
        row = self._session.row(self._COUNTER)
        if row is None:
            raise LookupError("the counter is missing")
        position, last_at, ordinal = row
        return int(str(position)), rows.optional_moment(last_at), int(str(ordinal))

    def position(self) -> int:
        """How far the journal goes."""
        return self._counter[0]

    def last_at(self) -> datetime | None:
        """When the last fact happened."""
        return self._counter[1]

    def position_before(self, moment: datetime) -> int:
        """How far the journal went before `moment`; its times never go back."""
        return journal.position_before(self._session, moment, end=self.position())

    def facts(
        self,
        *,
        after: int,
        until: int,
        limit: int,
        kinds: Collection[type[Fact]] = (),
        maintenances: Collection[str] = (),
    ) -> Sequence[Entry]:
        """Read the journal behind `after`, up to `until`."""
        where = journal.Where(after=after, until=until, most=limit)
        if maintenances:
            return journal.facts_of_maintenances(self._session, where, maintenances)
        return journal.facts(self._session, where, kinds)

    def told_of(
        self, *, after: int, until: int, limit: int, kinds: Collection[type[Fact]]
    ) -> Sequence[tuple[int, str]]:
        """Which maintenances facts of these kinds tell of, with the positions."""
        where = journal.Where(after=after, until=until, most=limit)
        return journal.told_of(self._session, where, kinds)

    def fleet(self) -> Fleet:
        """The whole fleet."""
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
        """What is known of these names, and what belongs to it."""
        found_groups = [*self._named(sql.GROUP, rows.group, groups)]
        found_hosts = [*self._named(sql.HOST, rows.host, hosts)]
        at = [self._session.row(sql.VM_AT, of=address) for address in addresses]
        names = [*vms, *(str(row[0]) for row in at if row is not None)]
        found_vms = [*self._named(sql.VM, rows.vm, names)]
        for statement, owners in (
            (sql.VMS_OF_GROUP, [each.name for each in found_groups]),
            (sql.VMS_OF_HOST, [each.name for each in found_hosts]),
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
            row = self._session.row(statement, of=key(name))
            if row is not None:
                yield read(row)

    def hosts(self, *, after: str, limit: int) -> Sequence[Host]:
        """Hosts by name, those after the name `after`."""
        found = self._session.rows(sql.HOSTS_PAGE, after=key(after), most=limit)
        return [rows.host(row) for row in found]

    def groups(self, *, after: str, limit: int) -> Sequence[Group]:
        """Groups by name, those after the name `after`."""
        found = self._session.rows(sql.GROUPS_PAGE, after=key(after), most=limit)
        return [rows.group(row) for row in found]

    def vms(self, *, after: str, limit: int) -> Sequence[VM]:
        """VMs by name, those after the name `after`."""
        found = self._session.rows(sql.VMS_PAGE, after=key(after), most=limit)
        return [rows.vm(row) for row in found]

    def slice(self, groups: Iterable[str] | None) -> Slice:
        """These groups with all that is live in them; None: all groups."""
        if groups is None:
            audiences = self._session.rows(sql.AUDIENCES)
            live = self._session.rows(sql.LIVE)
            found = [rows.group(row) for row in self._session.rows(sql.GROUPS)]
        else:
            audiences, live, found = [], [], []
            for name in sorted(set(groups)):
                found.extend(self._named(sql.GROUP, rows.group, [name]))
                audiences.extend(self._session.rows(sql.AUDIENCES_OF_GROUP, of=name))
                live.extend(self._session.rows(sql.LIVE_IN_GROUP, of=name))
        in_order = {int(str(row[0])): row for row in live}
        maintenances = [self._loaded(in_order[each]) for each in sorted(in_order)]
        reach = [each.announced_at for each in maintenances]
        reach += [each.last_request for each in found if each.last_request]
        return Slice(
            groups={group.name: group for group in found},
            audiences={each.name: each for each in map(rows.audience, audiences)},
            maintenances={each.id: each for each in maintenances},
            outages=tuple(self.outages(min(reach))) if reach else (),
        )

    def _loaded(self, row: rows.Row) -> Maintenance:
        read = rows.maintenance(row)
        self._moments[read.id] = rows.optional_moment(row[1])
        return read

    def maintenance(self, any_id: str) -> Maintenance | None:
        """The maintenance with this id, or with an event of this id."""
        row = self._session.row(sql.MAINTENANCE, of=any_id)
        row = row or self._session.row(sql.MAINTENANCE_OF_EVENT, of=any_id)
        return None if row is None else rows.maintenance(row)

    def maintenances(
        self,
        *,
        phases: Sequence[Phase],
        after: int,
        limit: int,
        group: str | None = None,
    ) -> Sequence[tuple[int, Maintenance]]:
        """Maintenances in the order of announcement, with a cursor each."""
        any_phase, in_phase, of_group = (
            (sql.MAINTENANCES, sql.MAINTENANCES_IN_PHASE, {})
            if group is None
            else (sql.TOLD, sql.TOLD_IN_PHASE, {"group": group})
        )
        page = {"after": after, "most": limit, **of_group}
        found = [] if phases else [*self._session.rows(any_phase, **page)]
        for phase in phases:
            found += self._session.rows(in_phase, of=phase.value, **page)
        in_order = {int(str(row[0])): row for row in found}
        return [
            (each, rows.maintenance(in_order[each]))
            for each in sorted(in_order)[:limit]
        ]

    def seen(self, *events: str) -> Sequence[Sight]:
        """Who was shown these events, and when, in the order of time."""
        if len(events) == 1:
            return [*map(rows.sight, self._session.rows(sql.SEEN, of=events[0]))]
        found: list[Sight] = []
        for start in range(0, len(events), len(sql.EVENTS)):
            named = events[start : start + len(sql.EVENTS)]
            places = dict(zip_longest(sql.EVENTS, named, fillvalue=""))
            found += map(rows.sight, self._session.rows(sql.SEEN_OF_MANY, **places))
        return sorted(found, key=lambda each: (each.at, each.vm, each.event))

    def facts_of(self, maintenance: str) -> Sequence[Entry]:
        """What the journal tells of one maintenance."""
        found = self._session.rows(sql.FACTS_OF, of=maintenance)
        return [rows.entry(row) for row in found]

    def outages(self, after: datetime) -> Sequence[Outage]:
        """The outages that ended after `after`."""
        found = self._session.rows(sql.OUTAGES, after=rows.micros(after))
        return [*map(rows.outage, found)]

    def next_moment(self) -> datetime | None:
        """When time alone moves something next."""
        row = self._session.row(sql.NEXT_MOMENT)
        return None if row is None else rows.optional_moment(row[0])

    def due(self, now: datetime) -> Sequence[Maintenance]:
        """What time alone moves at `now`, oldest moment first."""
        found = self._session.rows(sql.DUE, until=rows.micros(now))
        return [rows.maintenance(row) for row in found]

    def setting(self, name: str) -> str | None:
        """What was kept under `name`."""
        row = self._session.row(sql.SETTING, of=name)
        return None if row is None else str(row[0])

    def receipt(self, key: str) -> Receipt | None:
        """The receipt for an idempotency key."""
        row = self._session.row(sql.RECEIPT, of=key)
        if row is None:
            return None
        key, digest, answer, at = (str(row[0]), str(row[1]), str(row[2]), row[3])
        return Receipt(key=key, digest=digest, answer=answer, at=rows.moment(at))

    def tokens(self) -> Sequence[Token]:
        """All tokens, in the order in which they were made."""
        return [*map(rows.token, self._session.rows(sql.TOKENS))]


def _fleet(hosts: Iterable[Host], groups: Iterable[Group], vms: Iterable[VM]) -> Fleet:
    return Fleet(
        hosts={each.name: each for each in hosts},
        groups={each.name: each for each in groups},
        vms={each.name: each for each in vms},
    )
