"""Approving several events at once, each judged for itself."""

from collections.abc import Callable, Mapping, Sequence

from forewarn.core import commands
from forewarn.core.maintenance import Event, Maintenance, Slice, Via
from forewarn.core.settling import Step
from forewarn.engine.engine import Engine
from forewarn.errors import ForewarnError, NotFound, TooLate
from forewarn.ports import Transaction


def approve_each(
    engine: Engine,
    event_ids: Sequence[str],
    *,
    by: str,
    via: Via,
    is_seen: Callable[[Event], bool],
) -> Mapping[str, ForewarnError | None]:
    """Approve those of `event_ids` that can be, and say of each other why it cannot.

    An event that is not `is_seen` is as unknown as one that never was.
    """
    with engine.writing() as (transaction, now):
        judged = {each: _judge(transaction, each, is_seen) for each in event_ids}
        good = {
            event: found
            for event, found in judged.items()
            if isinstance(found, Maintenance)
        }
        ids = [event.upper() for event in good]

        def decide(slice_: Slice) -> Step:
            return commands.approve(
                slice_, ids, by=by, via=via, now=now, rules=engine.rules
            )

        if good:
            groups = {group for each in good.values() for group in each.groups}
            engine.decide(transaction, groups, decide, now)
    return {
        event: found if isinstance(found, ForewarnError) else None
        for event, found in judged.items()
    }


def _judge(
    transaction: Transaction, event_id: str, is_seen: Callable[[Event], bool]
) -> Maintenance | NotFound | TooLate:
    """Find the maintenance whose event can be approved, or why it cannot."""
    wanted = event_id.upper()
    found = transaction.maintenance(wanted)
    events = () if found is None else found.events
    if found is None or not any(each.id == wanted and is_seen(each) for each in events):
        return NotFound(f"there is no event {event_id}")
    try:
        commands.check_is_live(found, wanted)
    except TooLate as error:
        return error
    return found
