"""Questions about one maintenance: why it is where it is, and how it got there."""

from forewarn.core.explaining import Explanation, explain
from forewarn.core.facts import Sight
from forewarn.core.maintenance import Maintenance
from forewarn.core.settling import groups_to_settle
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
        slice_ = snapshot.slice(found.groups)
        wanted = groups_to_settle(slice_, slice_, now, engine.rules)
        if not wanted <= slice_.groups.keys():
            slice_ = snapshot.slice(wanted | slice_.groups.keys())
        return explain(slice_, found, now, engine.rules, only)


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
