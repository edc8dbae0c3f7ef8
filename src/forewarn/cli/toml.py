"""Fleet file (TOML) written from the API's fleet, without default values."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

Table: TypeAlias = Mapping[str, object]

_BARE = re.compile(r"[A-Za-z0-9_-]+")

#: Keys of a group that only the service sets.
_READ_ONLY = frozenset({"listening_since", "last_request"})

_LISTENING = "on-demand"  # the default


def said(
    hosts: Sequence[Table], groups: Sequence[Table], vms: Sequence[Table]
) -> dict[str, list[dict[str, object]]]:
    """Reduce hosts, groups and VMs to what a fleet file must contain.

    Default values are omitted, and so are groups that exist implicitly for one VM.
    """
    alone = {str(vm["name"]).lower() for vm in vms if _is_alone(vm)}
    fleet = {
        "hosts": [_said(host) for host in hosts],
        "groups": [_said(group) for group in groups if not _is_implied(group, alone)],
        "vms": [_said(vm) for vm in vms],
    }
    return {name: tables for name, tables in fleet.items() if tables}


def written(fleet: Mapping[str, Sequence[Table]]) -> str:
    """Format a fleet as TOML."""
    blocks = [
        "\n".join([f"[[{name}]]", *_lines(table)])
        for name, tables in fleet.items()
        for table in tables
    ]
    return "\n\n".join(blocks)


# --- omitting defaults -------------------------------------------------------


def _is_alone(vm: Table) -> bool:
    group = vm.get("group")
    return group is None or str(group).lower() == str(vm["name"]).lower()


def _is_implied(group: Table, alone: set[str]) -> bool:
    """Return whether the group exists implicitly, for a VM of the same name."""
    own = str(group["name"]).lower() in alone
    return own and set(_said(group)) <= {"name", "kind"}


def _said(table: Table) -> dict[str, object]:
    return {
        key: value
        for key, value in table.items()
        if key not in _READ_ONLY
        and not _is_default(key, value)
        and not (key == "group" and _is_alone(table))
    }


def _is_default(key: str, value: object) -> bool:
    if key == "listening":
        return value == _LISTENING
    return value is None or value is False or value == [] or value == {}


# --- TOML --------------------------------------------------------------------


def _lines(table: Table) -> Iterator[str]:
    for key, value in table.items():
        yield f"{_key(key)} = {_value(value)}"


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _value(key)


def _value(value: object) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        pairs = (f"{_key(str(key))} = {_value(item)}" for key, item in value.items())
        return f"{{ {', '.join(pairs)} }}"
    # For these values JSON and TOML differ only in one character.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
