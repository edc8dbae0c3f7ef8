"""Queries about a maintenance: its explanation and its history."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from forewarn.core.explaining import Explanation, explain
from forewarn.core.facts import Sight
from forewarn.core.maintenance import Maintenance, Phase, Slice
from forewarn.core.policy import Rules
from forewarn.core.share import share_of, share_of_fact
from forewarn.core.story import Story, tell
from forewarn.engine.engine import Engine
from forewarn.engine.lookup import find_maintenance
from forewarn.ports import Snapshot


def explain_maintenance(
    engine: Engine, any_id: str, *, only: str | None = None
) -> Explanation:
    """Explain the maintenance with this id, or with an event of this id.

    If `only` names a group, it is redacted for that group.
    """
    engine.write_notes()
    with engine.store.snapshot() as snapshot:
        maintenance, now = (
            find_maintenance(snapshot, any_id, only=only),
            engine.now(snapshot),
        )
        return explain_all(snapshot, [maintenance], now, engine.rules, only)[
            maintenance.id
        ]


def explain_all(
    snapshot: Snapshot,
    found: Sequence[Maintenance],
    now: datetime,
    rules: Rules,
    only: str | None = None,
    most: int | None = None,
) -> Mapping[str, Explanation]:
    """Explain several maintenance operations from one slice, by id.

    At least the first `most` waits of each are included, possibly more.
    """
    waiting = [
        maintenance for maintenance in found if maintenance.phase is Phase.SCHEDULED
    ]
    slice_ = snapshot.slice(
        {group for maintenance in waiting for group in maintenance.groups}
    )
    near = neighbourhoods(slice_)
    return {
        maintenance.id: explain(near(maintenance), maintenance, now, rules, only, most)
        for maintenance in found
    }


def neighbourhoods(slice_: Slice) -> Callable[[Maintenance], Slice]:
    """Return a function that cuts `slice_` to what one maintenance can wait for.

    Without it, explaining hundreds would look at all of them for each.
    """
    places = {name: place for place, name in enumerate(slice_.maintenances)}
    members: dict[str, list[str]] = {}
    for other in slice_.maintenances.values():
        for group in other.groups:
            members.setdefault(group, []).append(other.id)

    def near(maintenance: Maintenance) -> Slice:
        names = {
            name for group in maintenance.groups for name in members.get(group, ())
        }
        in_order = sorted(names, key=places.__getitem__)
        return replace(
            slice_, maintenances={name: slice_.maintenances[name] for name in in_order}
        )

    return near


def tell_story(engine: Engine, any_id: str, *, only: str | None = None) -> Story:
    """Return the history of the maintenance with this id, or with an event of this id.

    If `only` names a group, it is redacted for that group.
    """
    engine.write_notes()
    with engine.store.snapshot() as snapshot:
        whole = find_maintenance(snapshot, any_id, only=only)
        facts = [entry.fact for entry in snapshot.facts_of(whole.id)]
        visible = whole
        if only is not None:
            cut = [share_of_fact(fact, only, lambda _: whole) for fact in facts]
            facts = [fact for fact in cut if fact is not None]
            visible = share_of(whole, only) or whole
        outages = snapshot.outages(visible.announced_at)
        is_share = len(visible.events) < len(whole.events)
        sights = _sights(snapshot, visible)
        return tell(visible, facts, sights, outages, is_share=is_share)


def _sights(snapshot: Snapshot, found: Maintenance) -> list[Sight]:
    return [sight for event in found.events for sight in snapshot.seen(event.id)]
