"""What came of an announcement: its events, and the one that a program sees."""

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
    """Every event of the maintenances `made`."""
    return [
        Event(system.engine, watching, maintenance.id, event.id)
        for maintenance in made
        for event in maintenance.events
    ]


def seen_by(vm: str, fleet: Fleet, events: Sequence[Event]) -> Event:
    """Choose the event that `vm` sees, if there is one."""
    if not events:
        raise InvalidInput("nothing was announced")
    own = [each for each in events if vm in each.resources]
    group = fleet.vms[vm].group
    seen = [each for each in events if each.group == group]
    return [*own, *seen, *events][0]
