"""The fleet map: all hosts, groups and VMs, and when each VM last polled.

The response has columns, each with one value per VM. One object per VM would take ten
times as long to read for ten thousand VMs.

VMs come from the metadata plane, which knows the last poll of each; groups and hosts
come from the store. The position is read first: a fact after it covers whatever is
missing here, or is here too early.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from functools import cache
from typing import TypeVar

from fastapi import APIRouter
from fastapi.responses import Response

from forewarn.core.fleet import VM, Group, Host, natural
from forewarn.core.outages import Outage
from forewarn.engine.tokens import Holder
from forewarn.ports import Snapshot
from forewarn.server.control.asked import Caller, Service
from forewarn.server.control.reach import groups_for, vm_for
from forewarn.server.control.views import Json, rfc3339, written
from forewarn.server.identity import Seat

router = APIRouter(tags=["fleet"])

_PAGE = 1000

_Named = TypeVar("_Named", Host, Group)


@router.get("/v1/fleet/map", response_class=Response)
def show_map(service: Service, by: Caller) -> Response:
    """Show all hosts, groups and VMs in columns, and who is silent."""
    engine = service.engine
    engine.write_notes()
    position = service.documents_position()
    seats = service.plane.desk.directory.seats()
    with engine.store.snapshot() as snapshot:
        now = engine.now(snapshot)
        hosts = _hosts_for(by, snapshot)
        groups = _all(lambda after: groups_for(by, snapshot, after=after, limit=_PAGE))
        polls = [polled.last_request for polled in groups if polled.last_request]
        outages = snapshot.outages(min(polls)) if polls else ()
    shown: Json = {
        "position": position,
        "now": rfc3339(now),
        "hosts": [host.name for host in hosts],
        "groups": [_group(group, now, outages) for group in groups],
        "vms": _vms(by, seats, hosts, groups),
    }
    return Response(written(shown), media_type="application/json")


def _hosts_for(holder: Holder, snapshot: Snapshot) -> Sequence[Host]:
    if holder.group is not None:
        return ()
    return _all(lambda after: snapshot.hosts(after=after, limit=_PAGE))


def _all(page: Callable[[str], Sequence[_Named]]) -> Sequence[_Named]:
    """Read a list to its end, page by page, and sort it naturally."""
    items: list[_Named] = []
    while more := page(items[-1].name if items else ""):
        items += more
    return sorted(items, key=lambda item: natural(item.name))


def _group(group: Group, now: datetime, outages: Iterable[Outage]) -> Json:
    return {
        "name": group.name,
        "kind": group.kind.value,
        "listening": group.listening.value,
        "is_silent": not group.is_listening(now, outages),
        "last_request": rfc3339(group.last_request),
    }


def _vms(
    holder: Holder,
    seats: Iterable[Seat],
    hosts: Sequence[Host],
    groups: Sequence[Group],
) -> Json:
    host_at = {host.name: place for place, host in enumerate(hosts)}
    group_at = {group.name: place for place, group in enumerate(groups)}
    shown = ((vm_for(holder, seat.vm), seat.asked) for seat in seats)
    rows: list[tuple[VM, datetime | None]] = sorted(
        (
            (vm, polled)
            for vm, polled in shown
            if vm is not None and vm.group in group_at
        ),
        key=lambda row: natural(row[0].name),
    )
    written_once = cache(rfc3339)  # many polls share a second
    return {
        "name": [vm.name for vm, _ in rows],
        "group": [group_at[vm.group] for vm, _ in rows],
        "host": [host_at.get(vm.host or "") for vm, _ in rows],
        "update_domain": [vm.update_domain for vm, _ in rows],
        "spot": [vm.spot for vm, _ in rows],
        "asked": [written_once(polled) for _, polled in rows],
    }
