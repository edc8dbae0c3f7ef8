"""Available commands per maintenance state, listed by hand."""

from dataclasses import replace

import pytest
from tests.core.support.builders import NOON, a_maintenance, an_event

from forewarn.core.lifecycle.commands import possible_commands
from forewarn.core.lifecycle.model import Maintenance, Phase

APPROVED = an_event(approved_at=NOON)
STARTED = a_maintenance(phase=Phase.STARTED)

CASES: dict[str, tuple[Maintenance, set[str]]] = {
    "scheduled": (a_maintenance(), {"approve", "cancel"}),
    "approved, but held": (a_maintenance(events=[APPROVED]), {"cancel"}),
    "half approved": (
        a_maintenance(events=[APPROVED, an_event("e1", group="db")]),
        {"approve", "cancel"},
    ),
    "withdrawn but for what is approved": (
        a_maintenance(events=[APPROVED, replace(an_event("e1"), withdrawn_at=NOON)]),
        {"cancel"},
    ),
    "started": (STARTED, {"complete"}),
    "stuck": (replace(STARTED, stuck_since=NOON), {"complete", "retry", "close"}),
    "said to be complete": (replace(STARTED, completed_by="ops"), set()),
    "completed": (a_maintenance(phase=Phase.COMPLETED), set()),
    "canceled": (a_maintenance(phase=Phase.CANCELED), set()),
    "failed": (a_maintenance(phase=Phase.FAILED), set()),
}


@pytest.mark.parametrize("case", CASES)
def test_available_commands_depend_on_the_state(case: str) -> None:
    maintenance, expected = CASES[case]
    assert set(possible_commands(maintenance)) == expected
