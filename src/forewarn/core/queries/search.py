"""Journal search: filters on facts and the groups and VMs that facts are about."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from datetime import datetime
from typing import assert_never, get_args

from forewarn.configfile.values import renamed
from forewarn.core.fleet import fold_name
from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.model import Event, Maintenance, Via
from forewarn.errors import InvalidInput

#: All kinds of facts by name.
KINDS: Mapping[str, type[f.Fact]] = {kind.__name__: kind for kind in get_args(f.Fact)}

#: The kinds of facts that can name their actor.
NAMING = frozenset(
    kind for kind in KINDS.values() if "by" in {field.name for field in fields(kind)}
)

#: Finds a maintenance operation by its ID or by the ID of one of its events.
MaintenanceLookup = Callable[[str], Maintenance | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """A filter on facts. A fact must match at least one name in every field.

    An empty field matches everything. The names of groups, VMs and actors are
    case-folded; maintenance IDs are spelled as in the protocol.
    """

    groups: frozenset[str] = frozenset()
    vms: frozenset[str] = frozenset()
    by: frozenset[str] = frozenset()
    kinds: frozenset[type[f.Fact]] = frozenset()
    maintenances: frozenset[str] = frozenset()
    since: datetime | None = None  # None for the start of the journal
    until: datetime | None = None  # exclusive; None for the end of the journal


@dataclass(frozen=True, slots=True, kw_only=True)
class ConcernedNames:
    """The names of the groups and VMs that a fact is about."""

    groups: tuple[str, ...] = ()
    vms: tuple[str, ...] = ()


def fold_names(names: Iterable[str]) -> frozenset[str]:
    """Fold the case of `names`."""
    return frozenset(map(fold_name, names))


def fact_kind(name: str) -> type[f.Fact]:
    """Return the kind of fact with this name, ignoring case."""
    for fact_name, kind in KINDS.items():
        if fold_name(fact_name) == fold_name(name):
            return kind
    instead = renamed(name, KINDS) or f"; expected one of: {', '.join(KINDS)}"
    raise InvalidInput(f"unknown fact {name!r}{instead}")


def matches(search: Search, fact: f.Fact, look: MaintenanceLookup) -> bool:
    """Return whether `fact` matches `search`."""
    return (
        (search.since is None or fact.at >= search.since)
        and (search.until is None or fact.at < search.until)
        and (not search.kinds or type(fact) in search.kinds)
        and (not search.maintenances or _maintenance(fact) in search.maintenances)
        and (not search.by or fold_name(_by(fact) or "") in search.by)
        and _concerns(search, fact, look)
    )


def _maintenance(fact: f.Fact) -> str | None:
    named: str | None = getattr(fact, "maintenance", None)
    return named


def _by(fact: f.Fact) -> str | None:
    named: str | None = getattr(fact, "by", None)
    return named


def _concerns(search: Search, fact: f.Fact, look: MaintenanceLookup) -> bool:
    if not search.groups and not search.vms:
        return True
    subjects = concerned(fact, look)
    return all(
        not requested or not requested.isdisjoint(fold_names(names))
        for requested, names in (
            (search.groups, subjects.groups),
            (search.vms, subjects.vms),
        )
    )


# --- subjects of a fact ------------------------------------------------------


def concerned(fact: f.Fact, look: MaintenanceLookup) -> ConcernedNames:
    """Return the groups and VMs that `fact` is about."""
    match fact:
        case f.FleetChanged():
            return _of_fleet(fact)
        case f.Enabled() | f.Published() | f.Seen():
            return _of_document(fact, look)
        case f.Announced():
            return _of_maintenance(fact.announced)
        case f.Approved() | f.Withdrawn():
            return _of_event(fact, look)
        case f.VmsLeft() | f.WorkDone() | f.WorkFailed():
            groups = _of_maintenance(look(fact.maintenance)).groups
            return ConcernedNames(groups=groups, vms=fact.vms)
        case (
            f.Started()
            | f.WorkBegan()
            | f.WorkPrinted()
            | f.WorkRetried()
            | f.WorkEnded()
            | f.Completed()
            | f.Canceled()
            | f.Closed()
        ):
            return _of_maintenance(look(fact.maintenance))
        case f.OutageEnded() | f.TokenCreated() | f.TokenRevoked() | f.AccessRefused():
            return _of_token(fact)
        case _:
            assert_never(fact)


def _of_token(fact: f.Fact) -> ConcernedNames:
    """Return the group of a token. Other facts are not about a specific group."""
    group = fact.group if isinstance(fact, f.TokenCreated | f.TokenRevoked) else None
    return ConcernedNames(groups=() if group is None else (group,))


def _of_fleet(fact: f.FleetChanged) -> ConcernedNames:
    groups = (
        *(group.name for group in fact.groups),
        *fact.removed_groups,
        *(vm.group for vm in fact.vms),
        *fact.removed_from,
    )
    return ConcernedNames(
        groups=groups, vms=(*(vm.name for vm in fact.vms), *fact.removed_vms)
    )


def _of_document(
    fact: f.Enabled | f.Published | f.Seen, look: MaintenanceLookup
) -> ConcernedNames:
    if isinstance(fact, f.Seen):
        return _of_sights(fact, look)
    audience = fact.audience if isinstance(fact, f.Published) else fact.group
    _, _, vm = audience.partition("/")  # named GROUP/VM if the group is isolated
    return ConcernedNames(groups=(fact.group,), vms=(vm,) if vm else ())


def _of_sights(fact: f.Seen, look: MaintenanceLookup) -> ConcernedNames:
    groups = (
        event.group
        for sight in fact.sights
        for event in _events(look(sight.event))
        if event.id == sight.event
    )
    return ConcernedNames(
        groups=(*groups,), vms=tuple(sighting.vm for sighting in fact.sights)
    )


def _of_event(
    fact: f.Approved | f.Withdrawn, look: MaintenanceLookup
) -> ConcernedNames:
    resources = (
        vm
        for event in _events(look(fact.maintenance))
        if event.id == fact.event
        for vm in event.resources
    )
    by = fact.by if isinstance(fact, f.Approved) else None
    is_vm = isinstance(fact, f.Approved) and fact.via is Via.METADATA
    return ConcernedNames(
        groups=(fact.group,), vms=(*resources, *((by,) if by and is_vm else ()))
    )


def _of_maintenance(maintenance: Maintenance | None) -> ConcernedNames:
    if maintenance is None:
        return ConcernedNames()
    groups = dict.fromkeys(event.group for event in maintenance.events)
    return ConcernedNames(groups=(*groups,), vms=maintenance.vms)


def _events(maintenance: Maintenance | None) -> Iterator[Event]:
    if maintenance is not None:
        yield from maintenance.events
