"""Effects of a dry run: what a command would change, besides what it would announce."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.facts import Fact
from forewarn.core.lifecycle.model import Maintenance
from forewarn.core.queries.phrases import mention
from forewarn.core.queries.search import MaintenanceLookup
from forewarn.core.queries.visibility import shown_maintenance, visible_fact
from forewarn.formats import count, join_names


@dataclass(frozen=True, slots=True, kw_only=True)
class Effect:
    """Something that a command would change."""

    fact: str  # the kind of journal entry
    maintenance: str | None  # short ID of existing maintenance; None for the fleet
    text: str  # for example: would cancel the reboot of web-0 (m-17)


#: Sentences about existing maintenance, which is `what`.
_TEXTS: Mapping[type, Callable[[Any, str], str]] = {
    f.Approved: lambda fact, what: f"would approve {what} for group {fact.group}",
    f.VmsLeft: lambda fact, what: f"would remove {join_names(fact.vms)} from {what}",
    f.Withdrawn: lambda fact, what: (
        f"would withdraw the event of {what} for group {fact.group}"
    ),
    f.Started: lambda fact, what: f"would start {what} immediately",
    f.WorkRetried: lambda fact, what: f"would call the driver again for {what}",
    f.WorkEnded: lambda fact, what: f"would mark the work of {what} as done",
    f.Completed: lambda fact, what: f"would complete {what}",
    f.Canceled: lambda fact, what: f"would cancel {what}",
    f.Closed: lambda fact, what: f"would close {what} as failed",
}

#: The facts that have an effect that a person notices, besides announcements.
NOTICED = frozenset({f.Announced, f.FleetChanged, *_TEXTS})


def effects(
    facts: Iterable[Fact], look: MaintenanceLookup, group: str | None = None
) -> Iterator[Effect]:
    """Describe the effects of `facts`, except on maintenance that they announce.

    If `group` is given, only what that group may see is described.
    """
    new = set()
    for whole in facts:
        fact = whole if group is None else visible_fact(whole, group, look)
        if isinstance(fact, f.Announced):
            new.add(fact.maintenance)
            yield from _of_outcome(fact.announced)
        elif isinstance(fact, f.FleetChanged):
            yield from _of_fleet(fact)
        elif type(fact) in _TEXTS and (id_ := _subject(fact)) not in new:
            maintenance = look(id_)
            if maintenance is not None:
                yield _of_maintenance(fact, shown_maintenance(maintenance, group))


def _subject(fact: Any) -> str:
    return str(fact.maintenance)


def _of_maintenance(fact: Any, maintenance: Maintenance) -> Effect:
    what = f"{mention(maintenance)} ({maintenance.label})"
    return Effect(
        fact=type(fact).__name__,
        maintenance=maintenance.label,
        text=_TEXTS[type(fact)](fact, what),
    )


def _of_outcome(announced: Maintenance) -> Iterator[Effect]:
    """Describe what happens to the VMs when new maintenance completes."""
    if announced.removes or announced.deallocates:
        names = join_names(announced.vms)
        verb = "remove {} from the fleet" if announced.removes else "deallocate {}"
        yield _of_vms(f"{verb.format(names)} when the operation completes")


def _of_vms(text: str) -> Effect:
    return Effect(fact=f.FleetChanged.__name__, maintenance=None, text=f"would {text}")


def _of_fleet(fact: f.FleetChanged) -> Iterator[Effect]:
    """Describe the VMs that leave, start, or are deallocated or moved."""
    deallocated = [vm.name for vm in fact.vms if vm.deallocated]
    others = [vm.name for vm in fact.vms if not vm.deallocated]
    verb = "mark {} as running" if fact.by else "remove {} from the degraded host"
    for names, text in (
        (fact.removed_vms, "remove {} from the fleet"),
        (deallocated, "deallocate {}"),
        (others, verb),
    ):
        if names:
            yield _of_vms(
                text.format(f"{count(len(names), 'VM')} ({join_names(names)})")
            )
