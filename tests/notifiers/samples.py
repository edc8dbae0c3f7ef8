"""Sample notices."""

from dataclasses import replace
from datetime import UTC, datetime

from tests.core.support.builders import MINUTE, NOON, SECOND, a_maintenance, an_event

from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.model import Maintenance, Phase
from forewarn.ports import Notice

#: The time at which messages are sent and signed.
SENT = datetime(2026, 1, 5, 13, tzinfo=UTC)

STARTED = NOON + 15 * MINUTE


def a_story(phase: Phase = Phase.COMPLETED) -> Maintenance:
    """Make a Reboot of one host, shown to two groups."""
    maintenance = a_maintenance(
        "M0",
        host="host-a",
        events=[
            an_event("E0", group="web", resources=("web-0",)),
            an_event("E1", group="db", resources=("db-0", "db-1")),
        ],
        phase=phase,
        started_at=STARTED,
    )
    return replace(
        maintenance,
        ended_at=STARTED + 5 * SECOND,
        description="Host server is undergoing maintenance.",
    )


def a_notice(
    fact: f.Fact | None = None, *, position: int = 17, attempt: int = 1
) -> Notice:
    """Make a notice, by default about the start of maintenance that is long over."""
    fact = fact or f.Started(at=STARTED, maintenance="M0")
    about = getattr(fact, "maintenance", None)
    return Notice(
        position=position,
        fact=fact,
        maintenance=None if about is None else a_story(),
        sights=(f.Sight(event="E1", vm="db-1", at=NOON),),
        attempt=attempt,
    )
