"""Fleet file: conversion between TOML or JSON tables and a fleet.

Every error names its place in the file and what was expected there.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from enum import StrEnum
from ipaddress import ip_address
from typing import TypeVar

from forewarn.configfile.values import invalid_value
from forewarn.core.fleet import (
    NAME,
    VM,
    AutoApproval,
    Fleet,
    Group,
    GroupKind,
    Host,
    Listening,
    fold_name,
)
from forewarn.errors import InvalidInput

_LONGEST_TEXT = 1000
_TERMINATE_NOTICE = range(300, 901)
_DOMAINS = range(1_000_000)

Table = Mapping[str, object]
_Reader = Callable[[object, str], object]
_Choice = TypeVar("_Choice", bound=StrEnum)


# --- values ------------------------------------------------------------------


def _name(value: object, place: str) -> str:
    """Parse the name of a host, group or VM."""
    if isinstance(value, str) and NAME.fullmatch(value):
        return value
    raise invalid_value("a name of 1 to 80 of A-Z a-z 0-9 . _ -", value, place)


def _text(value: object, place: str) -> str:
    if isinstance(value, str) and len(value) <= _LONGEST_TEXT and _is_whole(value):
        return value
    raise invalid_value(f"text of at most {_LONGEST_TEXT} characters", value, place)


def _is_whole(text: str) -> bool:
    """Whether `text` has no lone surrogates, which JSON escapes can produce."""
    return not any("\ud800" <= character <= "\udfff" for character in text)


def _flag(value: object, place: str) -> bool:
    if isinstance(value, bool):
        return value
    raise invalid_value("true or false", value, place)


def _number(allowed: range) -> _Reader:
    def read(value: object, place: str) -> int:
        if isinstance(value, int) and not isinstance(value, bool) and value in allowed:
            return value
        last = allowed.stop - 1
        raise invalid_value(
            f"a whole number from {allowed.start} to {last}", value, place
        )

    return read


def _choice(kind: type[_Choice]) -> _Reader:
    def read(value: object, place: str) -> _Choice:
        if isinstance(value, str) and value in {member.value for member in kind}:
            return kind(value)
        expected = " or ".join(f'"{member.value}"' for member in kind)
        raise invalid_value(expected, value, place)

    return read


def _several(one: _Reader, expected: str) -> _Reader:
    def read(value: object, place: str) -> tuple[object, ...]:
        if not isinstance(value, list):
            raise invalid_value(expected, value, place)
        return tuple(one(item, f"{place}[{i}]") for i, item in enumerate(value))

    return read


def _address(value: object, place: str) -> str:
    try:
        address = ip_address(value) if isinstance(value, str) else None
    except ValueError:
        address = None
    if address is None:
        raise invalid_value("an IPv4 or IPv6 address", value, place)
    mapped = getattr(address, "ipv4_mapped", None)
    return str(mapped or address)


def _tags(value: object, place: str) -> dict[str, str]:
    if not isinstance(value, dict):
        raise invalid_value("a table of text", value, place)
    return {
        _text(name, place): _text(tag, f"{place}.{name}") for name, tag in value.items()
    }


# --- tables ------------------------------------------------------------------

_HOST: Mapping[str, _Reader] = {"name": _name}

_GROUP: Mapping[str, _Reader] = {
    "name": _name,
    "kind": _choice(GroupKind),
    "listening": _choice(Listening),
    "terminate_notice_seconds": _number(_TERMINATE_NOTICE),
    "auto_approve": _several(_choice(AutoApproval), "a list of user operations"),
    "isolated": _flag,
}

_VM: Mapping[str, _Reader] = {
    "name": _name,
    "group": _name,
    "host": _name,
    "update_domain": _number(_DOMAINS),
    "fault_domain": _number(_DOMAINS),
    "zone": _text,
    "addresses": _several(_address, "a list of addresses"),
    "spot": _flag,
    "paas": _flag,
    "tags": _tags,
    "size": _text,
    "location": _text,
    "resource_group": _text,
    "subscription": _text,
    "vm_id": _text,
}

_TABLES = ("hosts", "groups", "vms")

#: Keys of the file whose name differs from the field's name.
_FIELDS = {"terminate_notice_seconds": "terminate_notice"}
#: Keys of a group that only the service sets. They are accepted and ignored, so that
#: the output of the API can be applied again.
READ_ONLY = frozenset({"listening_since", "last_request"})


def _read(
    table: object, readers: Mapping[str, _Reader], place: str
) -> dict[str, object]:
    if not isinstance(table, dict):
        raise invalid_value("a table", table, place)
    ignored = READ_ONLY if readers is _GROUP else frozenset()
    unknown = [name for name in table if name not in readers and name not in ignored]
    if unknown:
        names = ", ".join(readers)
        raise InvalidInput(f"{place}: unknown key {unknown[0]!r}; known are {names}")
    return {
        _FIELDS.get(name, name): reader(table[name], f"{place}.{name}")
        for name, reader in readers.items()
        if table.get(name) is not None
    }


def read_host(table: object, place: str) -> Host:
    """Parse one host."""
    return Host(**_with_name(_read(table, _HOST, place), place))  # type: ignore[arg-type]  # checked by the readers


def read_group(table: object, place: str) -> Group:
    """Parse one group."""
    values = _with_name(_read(table, _GROUP, place), place)
    if "kind" not in values:
        raise InvalidInput(f"{place}: kind is missing")
    return Group(**values)  # type: ignore[arg-type]  # checked by the readers


def read_vm(table: object, place: str) -> VM:
    """Parse one VM; the group defaults to one with the VM's own name."""
    values = _with_name(_read(table, _VM, place), place)
    values.setdefault("group", values["name"])
    return VM(**values)  # type: ignore[arg-type]  # checked by the readers


def _with_name(values: dict[str, object], place: str) -> dict[str, object]:
    if "name" not in values:
        raise InvalidInput(f"{place}: name is missing")
    return values


# --- the whole fleet ---------------------------------------------------------


def read_fleet(data: object, origin: str = "fleet") -> Fleet:
    """Parse a whole fleet; error messages name `origin` and the place in it."""
    if not isinstance(data, dict):
        raise invalid_value("tables hosts, groups and vms", data, origin)
    unknown = [name for name in data if name not in _TABLES]
    if unknown:
        names = ", ".join(_TABLES)
        raise InvalidInput(f"{origin}: unknown key {unknown[0]!r}; known are {names}")
    hosts = [read_host(row, at) for at, row in _rows(data, "hosts", origin)]
    groups = [read_group(row, at) for at, row in _rows(data, "groups", origin)]
    vms = [read_vm(row, at) for at, row in _rows(data, "vms", origin)]
    return join(hosts, groups, vms, origin)


def _rows(data: Table, table: str, origin: str) -> Iterable[tuple[str, object]]:
    rows = data.get(table)
    if rows is None:
        return
    if not isinstance(rows, list):
        raise invalid_value(f"[[{table}]] tables", rows, f"{origin}: {table}")
    for number, row in enumerate(rows, 1):
        name = row.get("name") if isinstance(row, dict) else None
        is_name = isinstance(name, str) and NAME.fullmatch(name)
        named = f" ({name})" if is_name else ""
        yield f"{origin}: [[{table}]] {number}{named}", row


def join(
    hosts: Iterable[Host], groups: Iterable[Group], vms: Iterable[VM], origin: str
) -> Fleet:
    """Combine hosts, groups and VMs, and check all references between them."""
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
                f"{origin}: {noun} {name} is given twice; names are unique whatever"
                " their case"
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
    """Return the group of `vm`; create it if it has the VM's own name."""
    own = fold_name(vm.group) == fold_name(vm.name)
    group = groups.get(fold_name(vm.group))
    if group is None and not own:
        raise InvalidInput(f"{place}: group {vm.group} is not declared in [[groups]]")
    if group is None:
        group = Group(name=vm.name, declared=False)
        groups[fold_name(vm.name)] = group
    if own is not (group.kind is GroupKind.STANDALONE):
        raise InvalidInput(
            f"{place}: the group {group.name} is of kind {group.kind}; a standalone"
            " group holds the VM of its own name and no other"
        )
    return group


def warnings(fleet: Fleet) -> list[str]:
    """Describe hosts that hold VMs of several update domains of one group."""
    domains: dict[tuple[str, str], set[int]] = {}
    for vm in fleet.vms.values():
        if vm.host is not None and vm.update_domain is not None:
            domains.setdefault((vm.host, vm.group), set()).add(vm.update_domain)
    return [
        f"host {host} holds VMs of group {group} from {len(numbers)} update domains;"
        " maintenance of the host touches them all at once"
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
        "listening": group.listening.value,
        "terminate_notice_seconds": group.terminate_notice,
        "auto_approve": [operation.value for operation in group.auto_approve],
        "isolated": group.isolated,
    }


def vm_table(vm: VM) -> dict[str, object]:
    """Convert `vm` to a table with the keys of the fleet file."""
    table: dict[str, object] = {name: getattr(vm, name) for name in _VM}
    return {**table, "addresses": list(vm.addresses), "tags": dict(vm.tags)}
