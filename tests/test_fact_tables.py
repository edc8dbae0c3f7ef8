"""Tables of facts: each reader has decided about every fact.

mypy checks the readers that match facts exhaustively. Those below list only the facts
that they handle, so the facts that they leave out on purpose are listed here.
"""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import get_args

import pytest

import forewarn
from forewarn.core.lifecycle import facts as f
from forewarn.core.queries.log_lines import LEVELS
from forewarn.core.queries.report import UNSTICKING
from forewarn.engine.overview import ENDS
from forewarn.engine.queries import COUNTED
from forewarn.notifiers.targets import USUAL
from forewarn.server.metrics.catalog import ServiceMetrics
from forewarn.testing.rehearsal.timeline import HIDDEN

PORTAL = Path(forewarn.__file__).parent / "server" / "portal"
PORTAL_FLEET = (PORTAL / "service" / "model.js").read_text()
PORTAL_OVERVIEW = (PORTAL / "overview" / "overview.js").read_text()

#: Facts that neither start nor end a maintenance.
UNMOVING = (
    "Approved VmsLeft Withdrawn WorkBegan WorkDone WorkFailed WorkPrinted WorkRetried"
    " WorkEnded FleetChanged Enabled Published Seen OutageEnded TokenCreated"
    " TokenRevoked AccessRefused"
)


def names(kinds: Iterable[type]) -> set[str]:
    return {kind.__name__ for kind in kinds}


#: By reader: the facts that it handles, and those that it leaves out.
TABLES: Mapping[str, tuple[set[str], str]] = {
    "stuck time in the report": (
        {"WorkFailed", *names(get_args(UNSTICKING))},
        "Announced Approved VmsLeft Withdrawn Started WorkBegan WorkDone WorkPrinted"
        " Canceled FleetChanged Enabled Published Seen OutageEnded TokenCreated"
        " TokenRevoked AccessRefused",
    ),
    "maintenance in the report": (
        names(COUNTED),
        "VmsLeft WorkBegan WorkDone WorkPrinted FleetChanged Enabled Published"
        " Seen OutageEnded TokenCreated TokenRevoked AccessRefused",
    ),
    "default facts of a notification target": (
        {*USUAL},
        "VmsLeft WorkBegan WorkDone WorkPrinted WorkRetried WorkEnded FleetChanged"
        " Enabled Published Seen TokenCreated TokenRevoked AccessRefused",
    ),
    "timeline of a rehearsal": (
        {
            "OutageEnded",
            *(names(get_args(f.MaintenanceFact)) - names(get_args(HIDDEN))),
        },
        "WorkBegan WorkDone WorkPrinted FleetChanged Enabled Published Seen"
        " TokenCreated TokenRevoked AccessRefused",
    ),
    "fleet in the portal": (
        {
            *re.findall(
                r'entry\.fact === "(\w+)"',
                (PORTAL / "service" / "model.js").read_text(),
            )
        },
        "Announced Approved VmsLeft Withdrawn Started WorkBegan WorkDone WorkFailed"
        " WorkPrinted WorkRetried WorkEnded Completed Canceled Closed Published Seen"
        " OutageEnded TokenCreated TokenRevoked AccessRefused",
    ),
    "ends in the overview": (names(ENDS), f"Announced Started {UNMOVING}"),
    "ends in the portal": (
        {*re.findall(r"fact=(\w+)", PORTAL_OVERVIEW)},
        f"Announced Started {UNMOVING}",
    ),
    "levels of log lines": (names(LEVELS), ""),
    "counted maintenance": (names(ServiceMetrics().maintenances), UNMOVING),
}


@pytest.mark.parametrize("reader", TABLES)
def test_every_fact_is_handled_or_left_out_on_purpose(reader: str) -> None:
    handled, left_out = TABLES[reader]
    assert sorted([*handled, *left_out.split()]) == sorted(names(get_args(f.Fact)))
