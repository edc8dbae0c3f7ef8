"""Outages: the program is killed or stopped, and started again much later.

No test can wait for the minutes that make an outage. It changes the clock in the store
of the stopped program instead.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from tests.end_to_end.program import Program, serving
from tests.server.support.service import simulate_outage

MANUAL = ("--clock", "manual")

STOPPED = pytest.param(Program.stop, id="stopped", marks=pytest.mark.full)


@pytest.mark.parametrize("end", [pytest.param(Program.kill, id="killed"), STOPPED])
def test_after_an_outage_from_minute_1_to_30_a_reboot_starts_in_minute_44(
    tmp_path: Path, end: Callable[[Program], object]
) -> None:
    with serving(tmp_path, *MANUAL) as program:
        maintenance = program.service.announce(vms=["web-0"])
        program.service.advance(60)
        shown_before = program.service.document("web-0")["Events"]
        end(program)
    simulate_outage(tmp_path / "state" / "forewarn.db", timedelta(minutes=29))
    with serving(tmp_path, *MANUAL) as program:
        assert program.service.document("web-0")["Events"] == shown_before
        program.service.advance(2 * 3600)
        (started,) = program.service.facts("Started")
        announced_at, started_at = (
            datetime.fromisoformat(text)
            for text in (maintenance["announced_at"], started["at"])
        )
        assert started_at - announced_at == timedelta(minutes=44)
        assert len(program.service.facts("OutageEnded")) == 1
