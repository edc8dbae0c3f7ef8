"""Saving of a slice: the statements that turn one slice into another."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import TypeVar

from forewarn.core.maintenance import Slice
from forewarn.stores import rows
from forewarn.stores import statements as sql
from forewarn.stores.database import Session
from forewarn.stores.rows import Parameters

_Value = TypeVar("_Value")


def save_slice(
    session: Session,
    before: Slice,
    after: Slice,
    moments: Mapping[str, datetime | None],
    moved: Mapping[str, datetime | None],
    ordinal: int,
) -> int:
    """Save all differences; number new rows from `ordinal` on, and return the last.

    `moments` holds the next timer of every maintenance in `after`, `moved` only those
    that differ from the store.
    """
    session.run_many(
        sql.SET_MOMENT,
        [{"of": name, "to": rows.optional_micros(at)} for name, at in moved.items()],
    )
    session.run_many(sql.DROP_ADDRESSES, _vms_that_changed(before, after))
    for drop, old, new in (
        (sql.DROP_VM, before.vms.keys(), after.vms.keys()),
        (sql.DROP_AUDIENCE, before.audiences.keys(), after.audiences.keys()),
        (sql.DROP_GROUP, before.groups.keys(), after.groups.keys()),
        (sql.DROP_HOST, before.hosts.keys(), after.hosts.keys()),
    ):
        session.run_many(drop, [{"of": name} for name in old if name not in new])
    ordinal = _put(
        session, before.hosts, after.hosts, rows.host_row, _HOST, ordinal=ordinal
    )
    ordinal = _put(
        session, before.groups, after.groups, rows.group_row, _GROUP, ordinal=ordinal
    )
    ordinal = _put(session, before.vms, after.vms, rows.vm_row, _VM, ordinal=ordinal)
    ordinal = _put(
        session,
        before.audiences,
        after.audiences,
        rows.audience_row,
        _AUDIENCE,
        ordinal=ordinal,
    )
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


_Pair = tuple[sql.Statement, sql.Statement]
_HOST: _Pair = (sql.ADD_HOST, sql.SET_HOST)
_GROUP: _Pair = (sql.ADD_GROUP, sql.SET_GROUP)
_VM: _Pair = (sql.ADD_VM, sql.SET_VM)
_AUDIENCE: _Pair = (sql.ADD_AUDIENCE, sql.SET_AUDIENCE)


def _vms_that_changed(before: Slice, after: Slice) -> Sequence[Parameters]:
    return [
        {"of": name} for name, vm in before.vms.items() if after.vms.get(name) is not vm
    ]


def _put(
    session: Session,
    before: Mapping[str, _Value],
    after: Mapping[str, _Value],
    row: Callable[[_Value], Parameters],
    pair: _Pair,
    *,
    ordinal: int,
) -> int:
    added: list[Parameters] = []
    changed: list[Parameters] = []
    for name, value in after.items():
        if name not in before:
            ordinal += 1
            added.append({**row(value), "ordinal": ordinal})
        elif before[name] is not value:
            changed.append({**row(value), "of": name})
    add, change = pair
    session.run_many(add, added)
    session.run_many(change, changed)
    return ordinal


def _put_maintenances(
    session: Session,
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
