"""Options of a rehearsal, as written in tests: announcements, faults and fleets."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import timedelta
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Literal, TypeAlias, TypedDict, TypeVar

from forewarn.configfile import toml
from forewarn.configfile.values import read_choice, renamed, suggestion
from forewarn.core import fleet_file
from forewarn.core.faults import Fault, FaultOn, fault_of
from forewarn.core.fleet import Fleet
from forewarn.core.lifecycle.announcements import Order
from forewarn.core.lifecycle.operations import VmOperation
from forewarn.errors import InvalidInput, NotFound
from forewarn.formats import parse_duration
from forewarn.protocol.types import EventSource, EventType

#: A fleet, a fleet file or its tables; None for the demo fleet.
FleetSource: TypeAlias = "Fleet | str | Path | Mapping[str, object] | None"

#: A duration: text such as "90s" or "1h30m", a number of seconds, or a timedelta.
DurationLike: TypeAlias = str | float | timedelta

#: Words for event types, sources and user operations, for editors and type checkers.
#: Other spellings, such as "REBOOT", also work.
TypeName: TypeAlias = (
    EventType
    | Literal["Freeze", "Reboot", "Redeploy", "Preempt", "Terminate"]
    | Literal["freeze", "reboot", "redeploy", "preempt", "terminate"]
)
SourceName: TypeAlias = EventSource | Literal["Platform", "User", "platform", "user"]
OperationName: TypeAlias = (
    VmOperation | Literal["restart", "redeploy", "reimage", "evict", "delete"]
)

_DEMO = "demo.toml"

_Number = TypeVar("_Number", int, float)


# --- announcements -----------------------------------------------------------


class AnnouncementOptions(TypedDict, total=False):
    """The options of an announcement, except its type and VMs."""

    host: str
    group: str
    notice: DurationLike
    short_notice: bool
    duration: DurationLike
    description: str
    live_migration: bool
    source: SourceName
    reason: str
    emergency: bool
    ignore_blockers: bool


def order_of(kind: TypeName, vms: Sequence[str], options: AnnouncementOptions) -> Order:
    """Build an order from an event type, VMs and options."""
    if strange := [name for name in vms if not isinstance(name, str)]:
        raise InvalidInput(
            f"{strange[0]!r} is not the name of a VM; to affect several VMs, use"
            " announce('Reboot', 'a', 'b')"
        )
    check_keys(options, AnnouncementOptions)
    notice, source = options.get("notice"), options.get("source")
    duration = _seconds(options.get("duration"))
    return Order(
        type=read_choice(EventType, kind, "type"),
        vms=tuple(vms),
        host=options.get("host"),
        group=options.get("group"),
        notice=None if notice is None else parse_duration(notice),
        duration=None if duration is None else int(duration),
        description=options.get("description"),
        live_migration=options.get("live_migration", False),
        source=None if source is None else read_choice(EventSource, source, "source"),
        reason=options.get("reason"),
        emergency=options.get("emergency", False),
        ignore_blockers=options.get("ignore_blockers", False),
        short_notice=options.get("short_notice", False),
    )


# --- faults ------------------------------------------------------------------


class FaultOptions(TypedDict, total=False):
    """The options of a fault, except its kind. All durations are in real time."""

    on: FaultOn | Literal["any", "read", "approve"]
    vms: str | Sequence[str]
    count: int
    probability: float
    duration: DurationLike
    delay: DurationLike
    retry_after: int


def fault_from(kind: str, options: FaultOptions) -> Fault:
    """Build a fault from its kind and options."""
    check_keys(options, FaultOptions)
    vms = options.get("vms", ())
    return fault_of(
        str(kind),  # also accepts a number as the status
        on=options.get("on"),
        vms=[vms] if isinstance(vms, str) else vms,
        count=_number("count", options.get("count"), int),
        probability=_number("probability", options.get("probability"), float),
        duration=_seconds(options.get("duration")),
        delay=_seconds(options.get("delay")),
        retry_after=_number("retry_after", options.get("retry_after"), int),
    )


def _number(name: str, given: _Number | None, kind: type[_Number]) -> _Number | None:
    """Return `given`; reject wrong types, because tests may not be type-checked."""
    if given is None or (isinstance(given, kind | int) and given is not True):
        return given
    expected = "a whole number" if kind is int else "a number"
    raise InvalidInput(f"{name} must be {expected}, not {given!r}")


# --- fleets ------------------------------------------------------------------


def fleet_of(source: FleetSource = None, vms: Sequence[str] = ()) -> Fleet:
    """Read the fleet from `source` or build a single enabled group with `vms`."""
    if isinstance(vms, str) or not isinstance(vms, Iterable):
        raise InvalidInput(f"vms must be a list of names, such as [{vms!r}]")
    if vms and source is not None:
        raise InvalidInput("pass either fleet or vms, not both")
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
    raise InvalidInput(
        "fleet must be a file, or a table in the format of a fleet file, not"
        f" {source!r}"
    )


def vm_of(fleet: Fleet, name: str | None) -> str:
    """Return the VM's name as spelled in the fleet; None means the first VM."""
    by_key = {own_name.lower(): own_name for own_name in fleet.vms}
    if not by_key:
        raise InvalidInput("the fleet has no VMs, but the program must run on one")
    if name is None:
        return next(iter(fleet.vms))
    if str(name).lower() not in by_key:
        names = ", ".join(fleet.vms)
        raise NotFound(f"VM {name} is not in the fleet; expected one of: {names}")
    return by_key[name.lower()]


@cache  # parsed only once, because most tests use it
def _demo() -> Fleet:
    return fleet_file.read_fleet(toml.load(resources.files("forewarn") / _DEMO), _DEMO)


def _from_file(source: str | Path) -> Fleet:
    return fleet_file.read_fleet(toml.load(Path(source)), str(source))


def _group_of(vms: Sequence[str]) -> Mapping[str, object]:
    hosts = [{"name": f"host-{number}"} for number, _ in enumerate(vms)]
    group = {"name": "vms", "kind": "availability-set", "enabled": "always"}
    placed = [
        {"name": name, "group": "vms", "host": host["name"], "update_domain": number}
        for number, (name, host) in enumerate(zip(vms, hosts, strict=True))
    ]
    return {"hosts": hosts, "groups": [group], "vms": placed}


# --- shared ------------------------------------------------------------------


def check_keys(options: Mapping[str, object], allowed: type) -> None:
    """Reject keys of `options` that are not in the typed dict `allowed`."""
    names = allowed.__annotations__
    if unknown := [key for key in options if key not in names]:
        instead = renamed(unknown[0], names) or suggestion(unknown[0], names)
        instead = instead or f"; expected one of: {', '.join(names)}"
        raise InvalidInput(f"unknown option {unknown[0]!r}{instead}")


def _seconds(duration: DurationLike | None) -> float | None:
    return None if duration is None else parse_duration(duration).total_seconds()
