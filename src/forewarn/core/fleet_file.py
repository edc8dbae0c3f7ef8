"""Fleet file: conversion between TOML or JSON tables and a fleet.

Every error message names the place in the file and the expected value.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

from forewarn.configfile.values import (
    InvalidParts,
    KeyPath,
    Problem,
    Reader,
    at,
    invalid_value,
    list_of,
    matching,
    one_of,
    parse_ip,
    read_flag,
    read_parts,
    read_table,
    suggestion,
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


def _read(
    table: object, readers: Readers, *required: str
) -> tuple[dict[str, Any], list[Problem]]:
    """Read a table, treating null values as absent; return values and problems."""
    if isinstance(table, dict):
        table = {
            name: value
            for name, value in table.items()
            if value is not None or name not in readers
        }
    values, problems = read_parts(table, readers)
    if isinstance(table, dict):
        missing = (name for name in ("name", *required) if name not in table)
        problems += [((), f"{name} is missing") for name in missing]
    return values, problems


def _without(names: frozenset[str], table: object) -> object:
    if not isinstance(table, dict):
        return table
    return {name: table[name] for name in table if name not in names}


_Parsed: TypeAlias = tuple[dict[str, Any], list[Problem]]


def _parse_host(table: object) -> _Parsed:
    return _read(table, HOST_KEYS)


def _parse_group(table: object) -> _Parsed:
    return _read(_without(_READ_ONLY_IN_GROUPS, table), GROUP_KEYS, "kind")


def _parse_vm(table: object) -> _Parsed:
    values, problems = _read(_without(_READ_ONLY_IN_VMS, table), VM_KEYS)
    if "eviction_policy" in values and not values.get("spot"):
        problems.append(((), "eviction_policy requires spot = true"))
    return values, problems


def _values(parsed: _Parsed) -> dict[str, Any]:
    """Return the values; raise `InvalidParts` if there are problems."""
    values, problems = parsed
    if problems:
        raise InvalidParts(problems)
    return values


def _group_from(values: dict[str, Any]) -> Group:
    notice = values.pop("terminate_notice_seconds", None)
    return Group(**values, terminate_notice=notice)


def _vm_from(values: dict[str, Any]) -> VM:
    return VM(**{"group": values["name"], **values})


def read_host(table: object, place: str) -> Host:
    """Parse a host."""
    with at(place):
        return Host(**_values(_parse_host(table)))


def read_group(table: object, place: str) -> Group:
    """Parse a group."""
    with at(place):
        return _group_from(_values(_parse_group(table)))


def read_vm(table: object, place: str) -> VM:
    """Parse a VM. By default, its group has the same name as the VM."""
    with at(place):
        return _vm_from(_values(_parse_vm(table)))


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


def find_problems(data: Mapping[str, object]) -> list[Problem]:
    """Return all problems of a fleet, each with the path to its table or key."""
    problems: list[Problem] = [
        ((name,), f"{name}: {unknown_key(name, _TABLES)}")
        for name in data
        if name not in _TABLES
    ]
    parsed = {
        table: [*_parse_rows(data, table, parse, problems)]
        for table, parse in (
            ("hosts", _parse_host),
            ("groups", _parse_group),
            ("vms", _parse_vm),
        )
    }
    if not problems:  # otherwise, a reference to an invalid table would be a problem
        _, problems = _join(
            [Host(**values) for values in parsed["hosts"]],
            [_group_from(values) for values in parsed["groups"]],
            [_vm_from(values) for values in parsed["vms"]],
        )
    return problems


def _parse_rows(
    data: Mapping[str, object],
    table: str,
    parse: Callable[[object], _Parsed],
    problems: list[Problem],
) -> Iterator[dict[str, Any]]:
    """Yield the values of all rows of a table, and add their problems."""
    try:
        rows = [*_rows(data, table)]
    except InvalidInput as error:
        problems.append(((table,), str(error)))
        return
    for index, (place, row) in enumerate(rows):
        values, wrong = parse(row)
        problems += [
            ((table, index, *path), f"{place}{_keys(path)}: {sentence}")
            for path, sentence in wrong
        ]
        yield values


def _keys(path: KeyPath) -> str:
    return "".join(f".{key}" for key in path if isinstance(key, str))


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
    fleet, problems = _join([*hosts], [*groups], [*vms])
    if problems:
        raise InvalidInput(f"{origin}: {problems[0][1]}")
    return fleet


def _join(
    hosts: list[Host], groups: list[Group], vms: list[VM]
) -> tuple[Fleet, list[Problem]]:
    """Return the fleet, and the problems with names, references and addresses."""
    groups_by_key = {fold_name(group.name): group for group in groups}
    problems = [
        *_duplicates([host.name for host in hosts], "hosts", "host"),
        *_duplicates([group.name for group in groups], "groups", "group"),
        *_duplicates([vm.name for vm in vms], "vms", "VM"),
    ]
    host_names = {fold_name(host.name): host.name for host in hosts}
    joined: dict[str, VM] = {}
    addresses: dict[str, str] = {}
    for index, vm in enumerate(vms):
        host = None if vm.host is None else host_names.get(fold_name(vm.host))
        wrong = [
            *_group_problems(vm, groups_by_key),
            *_host_problems(vm, host_names),
            *_address_problems(vm, addresses),
        ]
        problems += [
            (("vms", index, *path), f"VM {vm.name}: {sentence}")
            for path, sentence in wrong
        ]
        group = groups_by_key.get(fold_name(vm.group))
        joined[vm.name] = replace(vm, group=group.name if group else "", host=host)
    fleet = Fleet(
        hosts={host.name: host for host in hosts},
        groups={group.name: group for group in groups_by_key.values()},
        vms=joined,
    )
    return fleet, problems


def _duplicates(names: Iterable[str], table: str, noun: str) -> Iterator[Problem]:
    seen: set[str] = set()
    for index, name in enumerate(names):
        if fold_name(name) in seen:
            yield (
                (table, index, "name"),
                f"duplicate {noun} {name}; names must be unique regardless of case",
            )
        seen.add(fold_name(name))


def _host_problems(vm: VM, hosts: Mapping[str, str]) -> Iterator[Problem]:
    if vm.host is not None and fold_name(vm.host) not in hosts:
        near = suggestion(vm.host, hosts.values())
        yield ("host",), f"host {vm.host} is not declared in [[hosts]]{near}"


def _group_problems(vm: VM, groups: dict[str, Group]) -> Iterator[Problem]:
    """Check the group of `vm`; add the group if it has the VM's own name."""
    own = fold_name(vm.group) == fold_name(vm.name)
    group = groups.get(fold_name(vm.group))
    if group is None and not own:
        near = suggestion(vm.group, (known.name for known in groups.values()))
        yield ("group",), f"group {vm.group} is not declared in [[groups]]{near}"
        return
    if group is None:
        group = Group(name=vm.name, declared=False)
        groups[fold_name(vm.name)] = group
    if own is not (group.kind is GroupKind.STANDALONE):
        yield (
            ("group",),
            f"group {group.name} has kind {group.kind}; a standalone group contains"
            " only the VM that has the same name as the group",
        )


def _address_problems(vm: VM, addresses: dict[str, str]) -> Iterator[Problem]:
    for index, address in enumerate(vm.addresses):
        if address in addresses:
            yield (
                ("addresses", index),
                f"address {address} is already used by {addresses[address]}",
            )
        addresses[address] = vm.name


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
