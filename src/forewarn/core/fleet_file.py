"""Fleet file: conversion between TOML or JSON tables and a fleet.

Every error message names the place in the file and the expected value.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from forewarn.configfile.values import (
    Reader,
    at,
    invalid_value,
    list_of,
    matching,
    one_of,
    parse_ip,
    read_flag,
    read_table,
    unknown_key,
    whole_number,
)
from forewarn.core.fleet import (
    NAME,
    NEW_NAME,
    VM,
    AutoApproval,
    Enabling,
    EvictionPolicy,
    Fleet,
    Group,
    GroupKind,
    Host,
    OperatingSystem,
    fold_name,
)
from forewarn.errors import InvalidInput
from forewarn.formats import is_utf8

_LONGEST_TEXT = 1000

# --- values ------------------------------------------------------------------

#: Parses the name of a host, group or VM.
read_name = matching(
    NEW_NAME,
    "a name of 1 to 80 characters from A-Z a-z 0-9 . _ - that does not begin with -"
    " and is not . or ..",
)
#: Parses the number of an update domain or fault domain.
read_domain = whole_number(0, 999_999)


def read_text(value: object) -> str:
    """Parse a string, which may be empty."""
    if isinstance(value, str) and len(value) <= _LONGEST_TEXT and is_utf8(value):
        return value
    raise invalid_value(f"a string of at most {_LONGEST_TEXT} characters", value)


def _read_ip(value: object) -> str:
    address = parse_ip(value)
    if address is None:
        raise invalid_value("an IPv4 or IPv6 address", value)
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)


def _read_tags(value: object) -> dict[str, str]:
    if not isinstance(value, dict):
        raise invalid_value("a table of strings", value)
    return read_table(value, {read_text(name): read_text for name in value})


# --- tables ------------------------------------------------------------------

Readers = Mapping[str, Reader[Any]]

_read_eviction_policy = one_of(*EvictionPolicy, is_exact=True)

HOST_KEYS: Readers = {"name": read_name}

GROUP_KEYS: Readers = {
    "name": read_name,
    "kind": one_of(*GroupKind, is_exact=True),
    "enabled": one_of(*Enabling, is_exact=True),
    "terminate_notice_seconds": whole_number(300, 900),
    "auto_approve": list_of(
        one_of(*AutoApproval, is_exact=True), "a list of user operations"
    ),
    "eviction_policy": _read_eviction_policy,
    "isolated": read_flag,
}

VM_KEYS: Readers = {
    "name": read_name,
    "group": read_name,
    "host": read_name,
    "update_domain": read_domain,
    "fault_domain": read_domain,
    "zone": read_text,
    "addresses": list_of(_read_ip, "a list of addresses"),
    "spot": read_flag,
    "eviction_policy": _read_eviction_policy,
    "paas": read_flag,
    "os": one_of(*OperatingSystem, is_exact=True),
    "tags": _read_tags,
    "size": read_text,
    "location": read_text,
    "resource_group": read_text,
    "subscription": read_text,
    "vm_id": read_text,
}

_TABLES = ("hosts", "groups", "vms")

_READ_ONLY_IN_GROUPS = frozenset({"enabled_since", "last_request"})
_READ_ONLY_IN_VMS = frozenset({"deallocated"})

#: Keys that only the service sets. They are accepted and ignored, so that API output
#: can be applied as a fleet file.
READ_ONLY = _READ_ONLY_IN_GROUPS | _READ_ONLY_IN_VMS


def _read(table: object, readers: Readers, *required: str) -> dict[str, Any]:
    """Read a table, treating null values as absent."""
    if isinstance(table, dict):
        table = {
            name: value
            for name, value in table.items()
            if value is not None or name not in readers
        }
    values = read_table(table, readers)
    for name in ("name", *required):
        if name not in values:
            raise InvalidInput(f"{name} is missing")
    return values


def _without(names: frozenset[str], table: object) -> object:
    if not isinstance(table, dict):
        return table
    return {name: table[name] for name in table if name not in names}


def read_host(table: object, place: str) -> Host:
    """Parse a host."""
    with at(place):
        return Host(**_read(table, HOST_KEYS))


def read_group(table: object, place: str) -> Group:
    """Parse a group."""
    with at(place):
        values = _read(_without(_READ_ONLY_IN_GROUPS, table), GROUP_KEYS, "kind")
    notice = values.pop("terminate_notice_seconds", None)
    return Group(**values, terminate_notice=notice)


def read_vm(table: object, place: str) -> VM:
    """Parse a VM. By default, its group has the same name as the VM."""
    with at(place):
        values = _read(_without(_READ_ONLY_IN_VMS, table), VM_KEYS)
        if "eviction_policy" in values and not values.get("spot"):
            raise InvalidInput("eviction_policy requires spot = true")
    return VM(**{"group": values["name"], **values})


# --- the whole fleet ---------------------------------------------------------


def read_fleet(data: object, origin: str = "fleet") -> Fleet:
    """Parse a whole fleet. Error messages name `origin` and the place within it."""
    with at(origin):
        if not isinstance(data, dict):
            raise invalid_value("tables hosts, groups and vms", data)
        for name in data:
            if name not in _TABLES:
                raise InvalidInput(f"{name}: {unknown_key(name, _TABLES)}")
        hosts = [read_host(row, place) for place, row in _rows(data, "hosts")]
        groups = [read_group(row, place) for place, row in _rows(data, "groups")]
        vms = [read_vm(row, place) for place, row in _rows(data, "vms")]
    return join(hosts, groups, vms, origin)


def _rows(data: Mapping[str, object], table: str) -> Iterable[tuple[str, object]]:
    rows = data.get(table)
    if rows is None:
        return
    if not isinstance(rows, list):
        raise InvalidInput(f"{table}: {invalid_value(f'[[{table}]] tables', rows)}")
    for number, row in enumerate(rows, 1):
        name = row.get("name") if isinstance(row, dict) else None
        is_name = isinstance(name, str) and NAME.fullmatch(name)
        named = f" ({name})" if is_name else ""
        yield f"[[{table}]] {number}{named}", row


def join(
    hosts: Iterable[Host], groups: Iterable[Group], vms: Iterable[VM], origin: str
) -> Fleet:
    """Combine hosts, groups and VMs into a fleet and check all references."""
    hosts, groups, vms = list(hosts), list(groups), list(vms)
    host_names = _unique([host.name for host in hosts], "host", origin)
    groups_by_key = {fold_name(group.name): group for group in groups}
    _unique([group.name for group in groups], "group", origin)
    joined: dict[str, VM] = {}
    addresses: dict[str, str] = {}
    _unique([vm.name for vm in vms], "VM", origin)
    for vm in vms:
        place = f"{origin}: VM {vm.name}"
        group = _group_of(vm, groups_by_key, place)
        joined[vm.name] = replace(
            vm, group=group.name, host=_host(vm, host_names, place)
        )
        for address in vm.addresses:
            if address in addresses:
                raise InvalidInput(
                    f"{place}: address {address} is already used by"
                    f" {addresses[address]}"
                )
            addresses[address] = vm.name
    return Fleet(
        hosts={host.name: host for host in hosts},
        groups={group.name: group for group in groups_by_key.values()},
        vms=joined,
    )


def _unique(names: Iterable[str], noun: str, origin: str) -> dict[str, str]:
    seen: dict[str, str] = {}
    for name in names:
        if fold_name(name) in seen:
            raise InvalidInput(
                f"{origin}: duplicate {noun} {name}; names must be unique regardless"
                " of case"
            )
        seen[fold_name(name)] = name
    return seen


def _host(vm: VM, hosts: Mapping[str, str], place: str) -> str | None:
    if vm.host is None:
        return None
    if fold_name(vm.host) not in hosts:
        raise InvalidInput(f"{place}: host {vm.host} is not declared in [[hosts]]")
    return hosts[fold_name(vm.host)]


def _group_of(vm: VM, groups: dict[str, Group], place: str) -> Group:
    """Return the group of `vm`; create the group if it has the VM's own name."""
    own = fold_name(vm.group) == fold_name(vm.name)
    group = groups.get(fold_name(vm.group))
    if group is None and not own:
        raise InvalidInput(f"{place}: group {vm.group} is not declared in [[groups]]")
    if group is None:
        group = Group(name=vm.name, declared=False)
        groups[fold_name(vm.name)] = group
    if own is not (group.kind is GroupKind.STANDALONE):
        raise InvalidInput(
            f"{place}: group {group.name} has kind {group.kind}; a standalone group"
            " contains only the VM that has the same name as the group"
        )
    return group


def warnings(fleet: Fleet) -> list[str]:
    """Return warnings about hosts with VMs from several update domains of a group."""
    domains: dict[tuple[str, str], set[int]] = {}
    for vm in fleet.vms.values():
        if vm.host is not None and vm.update_domain is not None:
            domains.setdefault((vm.host, vm.group), set()).add(vm.update_domain)
    return [
        f"host {host} runs VMs in group {group} from {len(numbers)} update domains;"
        " maintenance on the host affects all of them at the same time"
        for (host, group), numbers in domains.items()
        if len(numbers) > 1
    ]


# --- back to tables ----------------------------------------------------------


def host_table(host: Host) -> dict[str, object]:
    """Convert `host` to a table with the keys of the fleet file."""
    return {"name": host.name}


def group_table(group: Group) -> dict[str, object]:
    """Convert `group` to a table with the keys of the fleet file."""
    return {
        "name": group.name,
        "kind": group.kind.value,
        "enabled": group.enabled.value,
        "terminate_notice_seconds": group.terminate_notice,
        "auto_approve": [operation.value for operation in group.auto_approve],
        "eviction_policy": group.eviction_policy,
        "isolated": group.isolated,
    }


def vm_table(vm: VM) -> dict[str, object]:
    """Convert `vm` to a table with the fleet file's keys, plus `deallocated`."""
    table: dict[str, object] = {name: getattr(vm, name) for name in VM_KEYS}
    return {
        **table,
        "addresses": list(vm.addresses),
        "tags": dict(vm.tags),
        "deallocated": vm.deallocated,
    }
