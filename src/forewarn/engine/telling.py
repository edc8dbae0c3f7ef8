"""Questions about maintenances: why each is where it is, and how it got there."""

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

    If it is `only` for one group, what concerns others is not told.
    """
    engine.write_notes()
    with engine.store.snapshot() as snapshot:
        found, now = find_maintenance(snapshot, any_id, only=only), engine.now(snapshot)
        return explain_all(snapshot, [found], now, engine.rules, only)[found.id]


def explain_all(
    snapshot: Snapshot,
    found: Sequence[Maintenance],
    now: datetime,
    rules: Rules,
    only: str | None = None,
    most: int | None = None,
) -> Mapping[str, Explanation]:
    """Explain several maintenances, each by its id, out of one slice.

    Of what each waits for the first `most` are there, maybe more.
    """
    waiting = [each for each in found if each.phase is Phase.SCHEDULED]
    slice_ = snapshot.slice({group for each in waiting for group in each.groups})
    near = neighbourhoods(slice_)
    return {
        each.id: explain(near(each), each, now, rules, only, most) for each in found
    }


def neighbourhoods(slice_: Slice) -> Callable[[Maintenance], Slice]:
    """Make what cuts `slice_` to the groups of one maintenance: all it can wait for.

    Whoever explains hundreds would look at all of them for each, otherwise.
    """
    places = {name: place for place, name in enumerate(slice_.maintenances)}
    members: dict[str, list[str]] = {}
    for each in slice_.maintenances.values():
        for group in each.groups:
            members.setdefault(group, []).append(each.id)

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
    """Tell the life of the maintenance with this id, or with an event of this id.

    If it is `only` for one group, what concerns others is not told.
    """
    engine.write_notes()
    with engine.store.snapshot() as snapshot:
        whole = find_maintenance(snapshot, any_id, only=only)
        facts = [entry.fact for entry in snapshot.facts_of(whole.id)]
        found = whole
        if only is not None:
            cut = [share_of_fact(fact, only, lambda _: whole) for fact in facts]
            facts = [fact for fact in cut if fact is not None]
            found = share_of(whole, only) or whole
        outages = snapshot.outages(found.announced_at)
        is_share = len(found.events) < len(whole.events)
        sights = _sights(snapshot, found)
        return tell(found, facts, sights, outages, is_share=is_share)


def _sights(snapshot: Snapshot, found: Maintenance) -> list[Sight]:
    return [sight for event in found.events for sight in snapshot.seen(event.id)]
