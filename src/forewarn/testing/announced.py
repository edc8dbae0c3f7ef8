"""Events that result from an announcement."""

from collections.abc import Sequence

from forewarn.compose import System
from forewarn.core.fleet import Fleet
from forewarn.core.maintenance import Maintenance
from forewarn.errors import InvalidInput
from forewarn.testing.events import Event
from forewarn.testing.watching import Watching


def events_of(
    system: System, watching: Watching, made: Sequence[Maintenance]
) -> Sequence[Event]:
    """Return all events of the maintenance operations `made`."""
    return [
        Event(system.engine, watching, maintenance.id, event.id)
        for maintenance in made
        for event in maintenance.events
    ]


def seen_by(vm: str, fleet: Fleet, events: Sequence[Event]) -> Event:
    """Return the event that `vm` sees, or else the first.

    An event that lists `vm` comes first, then one of its group.
    """
    if not events:
        raise InvalidInput("nothing was announced")
    own = [event for event in events if vm in event.resources]
    group = fleet.vms[vm].group
    seen = [event for event in events if event.group == group]
    return [*own, *seen, *events][0]
