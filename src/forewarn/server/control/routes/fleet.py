"""Endpoints for hosts, groups and VMs."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from functools import cache
from typing import Annotated, TypeVar

from fastapi import APIRouter, Query
from fastapi.responses import Response

from forewarn.core import fleet_file
from forewarn.core.fleet import VM, Fleet, Group, Host, fold_name, natural_order
from forewarn.core.outages import Outage
from forewarn.engine.tokens import TokenHolder
from forewarn.errors import InvalidInput, Malformed, NotFound
from forewarn.ports import Snapshot
from forewarn.server.control.auth.permissions import groups_for, vm_for, vms_for
from forewarn.server.control.context import (
    After,
    Body,
    Caller,
    Limit,
    Service,
    Write,
    page,
)
from forewarn.server.control.models import (
    Json,
    applied_view,
    group_view,
    host_view,
    rfc3339,
    vm_view,
    written,
)
from forewarn.server.metadata.directory import VmEntry

router = APIRouter(tags=["fleet"])

_T = TypeVar("_T")

_FLEET_BODY = {
    "requestBody": {
        "required": True,
        "content": {
            "application/json": {
                "schema": {
                    "type": "object",
                    "properties": {
                        each: {"type": "array", "items": {"type": "object"}}
                        for each in ("hosts", "groups", "vms")
                    },
                }
            }
        },
    }
}
_ITEM_BODY = {
    "requestBody": {"content": {"application/json": {"schema": {"type": "object"}}}}
}


_PAGE = 1000

_Named = TypeVar("_Named", Host, Group)


@router.put("/v1/fleet", openapi_extra=_FLEET_BODY)
def put_fleet(
    service: Service,
    asked: Write,
    body: Body,
    remove: Annotated[bool, Query(description="Allow removing many VMs.")] = False,
) -> Json:
    """Make the body the whole truth about hosts, groups and VMs."""
    fleet = fleet_file.read_fleet(_parsed(body))
    once = asked.once(200, _rendered(applied_view))
    applied = service.fleets.apply(fleet, by=asked.by, remove=remove, once=once)
    return applied_view(applied)


# --- VMs ---------------------------------------------------------------------


@router.get("/v1/vms")
def list_vms(
    service: Service, by: Caller, limit: Limit = 100, after: After = None
) -> Json:
    """List VMs by name."""
    with service.engine.store.snapshot() as snapshot:
        vms = vms_for(by, snapshot, after=after or "", limit=limit + 1)
    return page(vms, limit, vm_view, lambda vm: vm.name)


@router.get("/v1/vms/{name}")
def get_vm(service: Service, by: Caller, name: str) -> Json:
    """Show one VM."""
    vms = _part(service, vms=[name]).vms
    own = {vm_name: share for vm_name, vm in vms.items() if (share := vm_for(by, vm))}
    return vm_view(_only(own, name, "VM"))


@router.put("/v1/vms/{name}", openapi_extra=_ITEM_BODY)
def put_vm(service: Service, asked: Write, name: str, body: Body) -> Json:
    """Add a VM, or change it."""
    vm = fleet_file.read_vm(_named(body, name), f"VM {name}")
    once = asked.once(200, _rendered(vm_view))
    return vm_view(service.fleets.put_vm(vm, by=asked.by, once=once))


@router.delete("/v1/vms/{name}", status_code=204)
def delete_vm(service: Service, asked: Write, name: str) -> Response:
    """Take a VM out of the fleet, without an event."""
    service.fleets.remove_vm(name, by=asked.by, once=asked.once(204, _nothing))
    return Response(status_code=204)


# --- groups ------------------------------------------------------------------


@router.get("/v1/groups")
def list_groups(
    service: Service, by: Caller, limit: Limit = 100, after: After = None
) -> Json:
    """List groups by name."""
    service.engine.save_observations()
    with service.engine.store.snapshot() as snapshot:
        groups = groups_for(by, snapshot, after=after or "", limit=limit + 1)
    return page(groups, limit, group_view, lambda group: group.name)


@router.get("/v1/groups/{name}")
def get_group(service: Service, by: Caller, name: str) -> Json:
    """Show one group."""
    service.engine.save_observations()
    groups = _part(service, groups=[name]).groups
    own = {
        group_name: group
        for group_name, group in groups.items()
        if by.group in (None, group_name)
    }
    return group_view(_only(own, name, "group"))


@router.put("/v1/groups/{name}", openapi_extra=_ITEM_BODY)
def put_group(service: Service, asked: Write, name: str, body: Body) -> Json:
    """Add a group, or change its settings."""
    group = fleet_file.read_group(_named(body, name), f"group {name}")
    once = asked.once(200, _rendered(group_view))
    return group_view(service.fleets.put_group(group, by=asked.by, once=once))


@router.delete("/v1/groups/{name}", status_code=204)
def delete_group(service: Service, asked: Write, name: str) -> Response:
    """Take an empty group out of the fleet."""
    service.fleets.remove_group(name, by=asked.by, once=asked.once(204, _nothing))
    return Response(status_code=204)


# --- hosts -------------------------------------------------------------------


@router.get("/v1/hosts")
def list_hosts(
    service: Service, by: Caller, limit: Limit = 100, after: After = None
) -> Json:
    """List hosts by name; a group's token sees none."""
    with service.engine.store.snapshot() as snapshot:
        hosts = snapshot.hosts(after=after or "", limit=limit + 1)
    visible = hosts if by.group is None else ()
    return page(visible, limit, host_view, lambda host: host.name)


@router.get("/v1/hosts/{name}")
def get_host(service: Service, by: Caller, name: str) -> Json:
    """Show one host."""
    hosts = _part(service, hosts=[name]).hosts if by.group is None else {}
    return host_view(_only(hosts, name, "host"))


@router.put("/v1/hosts/{name}", openapi_extra=_ITEM_BODY)
def put_host(service: Service, asked: Write, name: str, body: Body) -> Json:
    """Add a host."""
    host = fleet_file.read_host(_named(body, name), f"host {name}")
    once = asked.once(200, _rendered(host_view))
    return host_view(service.fleets.put_host(host, by=asked.by, once=once))


@router.delete("/v1/hosts/{name}", status_code=204)
def delete_host(service: Service, asked: Write, name: str) -> Response:
    """Take an empty host out of the fleet."""
    service.fleets.remove_host(name, by=asked.by, once=asked.once(204, _nothing))
    return Response(status_code=204)


# --- bodies ------------------------------------------------------------------


def _rendered(view: Callable[[_T], Json]) -> Callable[[_T, Snapshot], str]:
    return lambda shown, snapshot: written(view(shown))


def _nothing(removed: None, snapshot: Snapshot) -> str:
    del removed, snapshot
    return ""


def _parsed(body: bytes) -> object:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        raise Malformed("the body is not valid JSON") from None


def _named(body: bytes, name: str) -> Mapping[str, object]:
    """Parse a body that has no name, or the same name as the path."""
    table = _parsed(body) if body.strip() else {}
    if not isinstance(table, dict):
        raise InvalidInput("the body is not a JSON object")
    inside = table.get("name")
    if inside is None:
        return {**table, "name": name}
    if not isinstance(inside, str) or fold_name(inside) != fold_name(name):
        raise InvalidInput(f"the body names {inside!r}, the path {name!r}")
    return table


def _part(service: Service, **names: list[str]) -> Fleet:
    with service.engine.store.snapshot() as snapshot:
        return snapshot.part_of_fleet(**names)


def _only(named: Mapping[str, _T], name: str, noun: str) -> _T:
    for candidate, thing in named.items():
        if fold_name(candidate) == fold_name(name):
            return thing
    raise NotFound(f"there is no {noun} {name}")


@router.get("/v1/fleet/map", response_class=Response)
def show_map(service: Service, by: Caller) -> Response:
    """Show all hosts, groups and VMs in columns, and who is silent."""
    engine = service.engine
    engine.save_observations()
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


def _hosts_for(holder: TokenHolder, snapshot: Snapshot) -> Sequence[Host]:
    if holder.group is not None:
        return ()
    return _all(lambda after: snapshot.hosts(after=after, limit=_PAGE))


def _all(page: Callable[[str], Sequence[_Named]]) -> Sequence[_Named]:
    """Read a list to its end, page by page, and sort it naturally."""
    items: list[_Named] = []
    while more := page(items[-1].name if items else ""):
        items += more
    return sorted(items, key=lambda item: natural_order(item.name))


def _group(group: Group, now: datetime, outages: Iterable[Outage]) -> Json:
    return {
        "name": group.name,
        "kind": group.kind.value,
        "listening": group.listening.value,
        "is_silent": not group.is_listening(now, outages),
        "last_request": rfc3339(group.last_request),
    }


def _vms(
    holder: TokenHolder,
    seats: Iterable[VmEntry],
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
        key=lambda row: natural_order(row[0].name),
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
