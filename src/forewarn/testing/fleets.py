"""Fleet of a rehearsal: the demo fleet, a file, tables, or a few VM names."""

import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TypeAlias

from forewarn.core import fleet_file
from forewarn.core.fleet import Fleet
from forewarn.errors import InvalidInput, NotFound

#: A fleet, a fleet file, or its tables; None for the demo fleet.
FleetSource: TypeAlias = "Fleet | str | Path | Mapping[str, object] | None"

_DEMO = "demo.toml"


def fleet_of(source: FleetSource = None, vms: Sequence[str] = ()) -> Fleet:
    """Read the fleet from `source`, or build one enabled group of `vms`."""
    if isinstance(vms, str) or not isinstance(vms, Iterable):
        raise InvalidInput(f"vms is a list of names: [{vms!r}]")
    if vms and source is not None:
        raise InvalidInput("give a fleet or vms, not both")
    if vms:
        return fleet_file.read_fleet(_group_of([*vms]), "vms")
    if isinstance(source, Fleet):
        return source
    if source is None:
        return _demo()
    if isinstance(source, Mapping):
        return fleet_file.read_fleet(source, "fleet")
    if isinstance(source, str | Path):
        return _from_file(source)
    raise InvalidInput(f"a fleet is a file or a table, as in one; not {source!r}")


def vm_of(fleet: Fleet, name: str | None) -> str:
    """Return the VM's name in its original case; None means the first VM."""
    by_key = {own_name.lower(): own_name for own_name in fleet.vms}
    if not by_key:
        raise InvalidInput("there is no VM in the fleet that a program can be of")
    if name is None:
        return next(iter(fleet.vms))
    if str(name).lower() not in by_key:
        names = ", ".join(fleet.vms)
        raise NotFound(f"there is no VM {name} in the fleet; there are {names}")
    return by_key[name.lower()]


@cache  # every test of a run needs it
def _demo() -> Fleet:
    text = resources.files("forewarn").joinpath(_DEMO).read_text()
    return fleet_file.read_fleet(tomllib.loads(text), _DEMO)


def _from_file(source: str | Path) -> Fleet:
    try:
        data = tomllib.loads(Path(source).read_text())
    except OSError as error:
        raise InvalidInput(f"{source} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InvalidInput(f"{source} is not valid TOML: {error}") from error
    return fleet_file.read_fleet(data, str(source))


def _group_of(vms: Sequence[str]) -> Mapping[str, object]:
    hosts = [{"name": f"host-{number}"} for number, _ in enumerate(vms)]
    group = {"name": "vms", "kind": "availability-set", "listening": "always"}
    placed = [
        {"name": name, "group": "vms", "host": host["name"], "update_domain": number}
        for number, (name, host) in enumerate(zip(vms, hosts, strict=True))
    ]
    return {"hosts": hosts, "groups": [group], "vms": placed}
