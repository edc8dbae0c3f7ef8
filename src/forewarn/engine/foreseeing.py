"""Dry run of an announcement; nothing is changed, and no id is used up."""

from collections.abc import Sequence
from dataclasses import dataclass

from forewarn.core import announcing
from forewarn.core.announcing import Order
from forewarn.core.explaining import Explanation
from forewarn.core.foreseeing import foresee
from forewarn.core.maintenance import Maintenance
from forewarn.core.sentences import foreseen_ids
from forewarn.core.settling import groups_to_settle
from forewarn.engine.engine import Engine, announced
from forewarn.engine.telling import neighbourhoods


@dataclass(frozen=True, slots=True, kw_only=True)
class Foreseen:
    """One maintenance that would be announced."""

    maintenance: Maintenance
    explanation: Explanation


def preview(engine: Engine, order: Order, *, by: str) -> Sequence[Foreseen]:
    """Return what `announce` would do, in the order in which it would run."""
    announcing.check(order)
    engine.write_notes()
    rules = engine.rules
    with engine.store.snapshot() as snapshot:
        now = engine.now(snapshot)
        groups, decide = engine.ordered(snapshot, order, by, now, foreseen_ids())
        slice_ = snapshot.slice(groups)
        step = decide(slice_)
        required = groups_to_settle(slice_, step.slice, now, rules)
        if not required <= slice_.groups.keys():
            step = decide(snapshot.slice(required | slice_.groups.keys()))
    near = neighbourhoods(step.slice)
    return [
        Foreseen(
            maintenance=maintenance,
            explanation=foresee(near(maintenance), maintenance, now, rules),
        )
        for maintenance in announced(step)
    ]
