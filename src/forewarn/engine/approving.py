"""Bulk approval of events, with a result for each."""

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
    """Approve those of `event_ids` that can be, and return the error of each other.

    An event for which `is_seen` is false is reported as not found.
    """
    with engine.writing() as (transaction, now):
        judged = {each: _judge(transaction, each, is_seen) for each in event_ids}
        good = {
            event: verdict
            for event, verdict in judged.items()
            if isinstance(verdict, Maintenance)
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
        event: verdict if isinstance(verdict, ForewarnError) else None
        for event, verdict in judged.items()
    }


def _judge(
    transaction: Transaction, event_id: str, is_seen: Callable[[Event], bool]
) -> Maintenance | NotFound | TooLate:
    """Return the maintenance whose event can be approved, or the error."""
    normalized = event_id.upper()
    maintenance = transaction.maintenance(normalized)
    events = () if maintenance is None else maintenance.events
    if maintenance is None or not any(
        event.id == normalized and is_seen(event) for event in events
    ):
        return NotFound(f"there is no event {event_id}")
    try:
        commands.check_is_live(maintenance, normalized)
    except TooLate as error:
        return error
    return maintenance
