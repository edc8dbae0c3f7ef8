"""Endpoints of the fleet: hosts, groups, VMs, and the map of all of them."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Annotated, TypeVar

from fastapi import APIRouter, Query

from forewarn.core import fleet_file
from forewarn.core.fleet import VM, Fleet, Group, Host, fold_name, natural_order
from forewarn.core.outages import Outage
from forewarn.core.queries.fleet_checks import CheckedFleet, CheckedVm, check_fleet
from forewarn.core.queries.views import Json, group_view, maintenance_view
from forewarn.engine.fleet import FleetApplied
from forewarn.engine.lookup import (
    declared_name,
    find_group,
    find_host,
    find_vm,
    live_of_vm,
    live_on_host,
)
from forewarn.engine.queries import DryRun
from forewarn.engine.tokens import TokenHolder
from forewarn.errors import InvalidInput, NotFound
from forewarn.ports import Snapshot
from forewarn.protocol.codec import parse_json
from forewarn.server.control import models as m
from forewarn.server.control.auth.permissions import (
    groups_for,
    shown_to,
    vm_for,
    vms_for,
)
from forewarn.server.control.context import (
    After,
    Body,
    Caller,
    FinalWrite,
    Limit,
    Result,
    ServicesDep,
    ViewRoute,
    Write,
    page,
)
from forewarn.server.control.openapi import body_of
from forewarn.server.metadata.directory import VmEntry
from forewarn.server.metadata.faults.plane import InstrumentedPlane
from forewarn.server.metadata.limits import LimitedVm

router = APIRouter(tags=["fleet"], route_class=ViewRoute)

_Named = TypeVar("_Named", Host, Group)

_ALL = 10**9  # items; more than any fleet has


@router.put(
    "/v1/fleet", response_model=m.AppliedView, openapi_extra=body_of("GivenFleet")
)
def put_fleet(
    services: ServicesDep,
    write: Write,
    body: Body,
    remove: Annotated[
        bool, Query(description="allow removing more than a tenth of the VMs")
    ] = False,
) -> Result:
    """Replace all hosts, groups and VMs with those in the request body."""
    fleet = fleet_file.read_fleet(parse_json(body))
    command = partial(services.fleets.apply, fleet, remove=remove)
    if write.is_dry_run:
        trial = DryRun[FleetApplied](is_explained=False)
        trial.run(command, by=write.by)
        return m.applied_view(*trial.results)
    return write.run(command, m.applied_view)


# --- VMs ---------------------------------------------------------------------


@router.get("/v1/vms", response_model=m.page_of("Vms", m.VmView), responses={404: {}})
def list_vms(
    services: ServicesDep,
    by: Caller,
    group: Annotated[str | None, Query(description="only VMs in this group")] = None,
    host: Annotated[str | None, Query(description="only VMs on this host")] = None,
    limit: Limit = 100,
    after: After = None,
) -> Json:
    """List VMs by name."""
    start, most = after or "", limit + 1
    with services.engine.store.snapshot() as snapshot:
        if group is None and host is None:
            vms = vms_for(by, snapshot, after=start, limit=most)
        else:
            chosen = _chosen_vms(snapshot, by, group, host)
            later = [vm for vm in chosen if fold_name(vm.name) > fold_name(start)]
            vms = sorted(later, key=lambda vm: fold_name(vm.name))[:most]
    return page(vms, limit, fleet_file.vm_table, lambda vm: vm.name)


def _chosen_vms(
    snapshot: Snapshot, by: TokenHolder, group: str | None, host: str | None
) -> Sequence[VM]:
    """Return the VMs in `group` and on `host` that the caller may see."""
    visible = None if by.group is None else {by.group}
    if host is not None and visible is not None:
        raise NotFound(f"host {host} not found")
    vms = find_host(snapshot, host)[1] if host is not None else None
    if group is not None:
        name, members = find_group(snapshot, group, visible)
        vms = members if vms is None else [vm for vm in vms if vm.group == name]
    return [own for vm in vms or () if (own := vm_for(by, vm)) is not None]


@router.get("/v1/vms/{name}", response_model=m.VmView)
def get_vm(services: ServicesDep, by: Caller, name: str) -> Json:
    """Show one VM."""
    with services.engine.store.snapshot() as snapshot:
        vm = find_vm(snapshot, name, group=by.group)
    return fleet_file.vm_table(vm_for(by, vm) or vm)


@router.get("/v1/vms/{name}/status", response_model=m.VmStatusView)
def show_vm_status(services: ServicesDep, by: Caller, name: str) -> Json:
    """Show one VM with its current maintenance, its last poll and exceeded limits."""
    engine = services.engine
    engine.save_observations()
    with engine.store.snapshot() as snapshot:
        vm = find_vm(snapshot, name, group=by.group)
        group = snapshot.part_of_fleet(groups=[vm.group]).groups[vm.group]
        last = group.last_request
        outages = snapshot.outages(last) if last else ()
        is_enabled = group.is_enabled(engine.now(snapshot), outages)
        live = live_of_vm(snapshot, vm)
    entry = services.plane.handler.directory.find("", vm.name)
    limited = [item for item in services.plane.limited() if item.name == vm.name]
    return {
        "vm": fleet_file.vm_table(vm_for(by, vm) or vm),
        "is_disabled": not is_enabled,
        "group_last_request": last,
        "last_request": entry.last_request if entry else None,
        "limits": _limited_view(limited[0]) if limited else None,
        "maintenances": [maintenance_view(shown_to(by, item)) for item in live],
    }


@router.put(
    "/v1/vms/{name}",
    response_model=m.VmView,
    openapi_extra=body_of("GivenVm", is_required=False),
)
def put_vm(services: ServicesDep, write: FinalWrite, name: str, body: Body) -> Result:
    """Add or change a VM."""
    vm = fleet_file.read_vm(_parse_named(body, name), f"VM {name}")
    return write.run(partial(services.fleets.put_vm, vm), fleet_file.vm_table)


@router.delete("/v1/vms/{name}", status_code=204)
def delete_vm(services: ServicesDep, write: FinalWrite, name: str) -> None:
    """Remove a VM from the fleet without an event."""
    services.fleets.remove_vm(name, by=write.by, once=write.idempotency_key(204))


# --- groups ------------------------------------------------------------------


@router.get("/v1/groups", response_model=m.page_of("Groups", m.GroupView))
def list_groups(
    services: ServicesDep, by: Caller, limit: Limit = 100, after: After = None
) -> Json:
    """List groups by name."""
    services.engine.save_observations()
    with services.engine.store.snapshot() as snapshot:
        groups = groups_for(by, snapshot, after=after or "", limit=limit + 1)
    return page(groups, limit, group_view, lambda group: group.name)


@router.get("/v1/groups/{name}", response_model=m.GroupView)
def get_group(services: ServicesDep, by: Caller, name: str) -> Json:
    """Show one group."""
    services.engine.save_observations()
    groups = _part_of_fleet(services, groups=[name]).groups
    own = {
        group_name: group
        for group_name, group in groups.items()
        if by.group in (None, group_name)
    }
    return group_view(own[declared_name(name, own, "group")])


@router.put(
    "/v1/groups/{name}", response_model=m.GroupView, openapi_extra=body_of("GivenGroup")
)
def put_group(
    services: ServicesDep, write: FinalWrite, name: str, body: Body
) -> Result:
    """Add a group or change its settings."""
    group = fleet_file.read_group(_parse_named(body, name), f"group {name}")
    return write.run(partial(services.fleets.put_group, group), group_view)


@router.delete("/v1/groups/{name}", status_code=204)
def delete_group(services: ServicesDep, write: FinalWrite, name: str) -> None:
    """Remove an empty group from the fleet."""
    services.fleets.remove_group(name, by=write.by, once=write.idempotency_key(204))


# --- hosts -------------------------------------------------------------------


@router.get("/v1/hosts", response_model=m.page_of("Hosts", m.HostView))
def list_hosts(
    services: ServicesDep, by: Caller, limit: Limit = 100, after: After = None
) -> Json:
    """List hosts by name. The list is empty for a group's token."""
    with services.engine.store.snapshot() as snapshot:
        hosts = snapshot.hosts(after=after or "", limit=limit + 1)
    visible = hosts if by.group is None else ()
    return page(visible, limit, fleet_file.host_table, lambda host: host.name)


@router.get("/v1/hosts/{name}", response_model=m.HostView)
def get_host(services: ServicesDep, by: Caller, name: str) -> Json:
    """Show one host."""
    hosts = _part_of_fleet(services, hosts=[name]).hosts if by.group is None else {}
    return fleet_file.host_table(hosts[declared_name(name, hosts, "host")])


@router.get("/v1/hosts/{name}/status", response_model=m.HostStatusView)
def show_host_status(services: ServicesDep, name: str) -> Json:
    """Show one host with its VMs and the current maintenance there."""
    with services.engine.store.snapshot() as snapshot:
        host, vms = find_host(snapshot, name)
        live = live_on_host(snapshot, host, vms)
    in_order = sorted(vms, key=lambda vm: natural_order(vm.name))
    return {
        "host": {"name": host},
        "vms": [*map(fleet_file.vm_table, in_order)],
        "maintenances": [*map(maintenance_view, live)],
    }


@router.put(
    "/v1/hosts/{name}",
    response_model=m.HostView,
    openapi_extra=body_of("GivenHost", is_required=False),
)
def put_host(services: ServicesDep, write: FinalWrite, name: str, body: Body) -> Result:
    """Add a host."""
    host = fleet_file.read_host(_parse_named(body, name), f"host {name}")
    return write.run(partial(services.fleets.put_host, host), fleet_file.host_table)


@router.delete("/v1/hosts/{name}", status_code=204)
def delete_host(services: ServicesDep, write: FinalWrite, name: str) -> None:
    """Remove an empty host from the fleet."""
    services.fleets.remove_host(name, by=write.by, once=write.idempotency_key(204))


# --- the map -----------------------------------------------------------------


@router.get("/v1/fleet/map", response_model=m.FleetMapView)
def show_map(services: ServicesDep, by: Caller) -> Json:
    """Show all hosts, groups and VMs in columns, and which groups are disabled."""
    engine = services.engine
    engine.save_observations()
    position = services.documents_position()
    entries = services.plane.handler.directory.entries()
    with engine.store.snapshot() as snapshot:
        now = engine.now(snapshot)
        hosts = _in_order(
            snapshot.hosts(after="", limit=_ALL) if by.group is None else ()
        )
        groups = _in_order(groups_for(by, snapshot, after="", limit=_ALL))
        polls = [group.last_request for group in groups if group.last_request]
        outages = snapshot.outages(min(polls)) if polls else ()
    return {
        "position": position,
        "now": now,
        "hosts": [host.name for host in hosts],
        "groups": [_group_view(group, now, outages) for group in groups],
        "vms": _vm_columns(by, entries, hosts, groups),
    }


@router.get("/v1/fleet/checks", response_model=m.FleetChecksView)
def show_checks(services: ServicesDep, by: Caller) -> Json:
    """List groups and VMs that may miss events, and groups in one update domain.

    `last_request` of a VM is null if it has not polled since the service started. Each
    finding lists at most 10 names.
    """
    engine, directory = services.engine, services.plane.handler.directory
    engine.save_observations()
    shown = (
        (vm_for(by, entry.vm), entry.last_request) for entry in directory.entries()
    )
    vms = [CheckedVm(vm=vm, last_request=polled) for vm, polled in shown if vm]
    with engine.store.snapshot() as snapshot:
        now = engine.now(snapshot)
        groups = groups_for(by, snapshot, after="", limit=_ALL)
        hosts = len(snapshot.hosts(after="", limit=_ALL)) if by.group is None else None
        polls = [group.last_request for group in groups if group.last_request]
        findings = check_fleet(
            CheckedFleet(hosts=hosts, groups=groups, vms=vms),
            now,
            started_at=services.started_at,
            outages=snapshot.outages(min(polls)) if polls else (),
            is_open=directory.is_open,
        )
    return {
        "now": now,
        "hosts": hosts,
        "groups": len(groups),
        "vms": len(vms),
        "findings": findings,
    }


@router.get("/v1/fleet/limited", response_model=m.LimitedView)
def show_limited(services: ServicesDep, by: Caller) -> Json:
    """List the VMs that exceeded a metadata-plane limit in the last hour."""
    return {"items": [_limited_view(vm) for vm in limited_for(by, services.plane)]}


def _limited_view(vm: LimitedVm) -> Json:
    return {
        "name": vm.name,
        "refused": vm.refused,
        "limits": vm.counts,
        "last": vm.last,
    }


def limited_for(holder: TokenHolder, plane: InstrumentedPlane) -> Sequence[LimitedVm]:
    """Return the VMs limited in the last hour that `holder` may see."""
    limited = [
        (vm, plane.handler.directory.find("", vm.name)) for vm in plane.limited()
    ]
    return [vm for vm, entry in limited if entry and vm_for(holder, entry.vm)]


def _in_order(items: Iterable[_Named]) -> Sequence[_Named]:
    return sorted(items, key=lambda item: natural_order(item.name))


def _group_view(group: Group, now: datetime, outages: Iterable[Outage]) -> Json:
    return {
        "name": group.name,
        "kind": group.kind,
        "enabled": group.enabled,
        "is_disabled": not group.is_enabled(now, outages),
        "last_request": group.last_request,
    }


def _vm_columns(
    holder: TokenHolder,
    entries: Iterable[VmEntry],
    hosts: Sequence[Host],
    groups: Sequence[Group],
) -> Json:
    host_at = {host.name: index for index, host in enumerate(hosts)}
    group_at = {group.name: index for index, group in enumerate(groups)}
    shown = ((vm_for(holder, entry.vm), entry.last_request) for entry in entries)
    rows: list[tuple[VM, datetime | None]] = sorted(
        (
            (vm, polled)
            for vm, polled in shown
            if vm is not None and vm.group in group_at
        ),
        key=lambda row: natural_order(row[0].name),
    )
    return {
        "name": [vm.name for vm, _ in rows],
        "group": [group_at[vm.group] for vm, _ in rows],
        "host": [host_at.get(vm.host or "") for vm, _ in rows],
        "update_domain": [vm.update_domain for vm, _ in rows],
        "spot": [vm.spot for vm, _ in rows],
        "deallocated": [vm.deallocated for vm, _ in rows],
        "last_request": [polled for _, polled in rows],
    }


# --- bodies and lookups ------------------------------------------------------


def _parse_named(body: bytes, name: str) -> Mapping[str, object]:
    """Parse a body whose name, if any, must match the name in the path."""
    table = parse_json(body) if body.strip() else {}
    if not isinstance(table, dict):
        raise InvalidInput("the body must be a JSON object")
    inside = table.get("name")
    if inside is None:
        return {**table, "name": name}
    if not isinstance(inside, str) or fold_name(inside) != fold_name(name):
        raise InvalidInput(
            f"the name in the body, {inside!r}, differs from {name!r} in the path"
        )
    return table


def _part_of_fleet(services: ServicesDep, **names: list[str]) -> Fleet:
    with services.engine.store.snapshot() as snapshot:
        return snapshot.part_of_fleet(**names)
