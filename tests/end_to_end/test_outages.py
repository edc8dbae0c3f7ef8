"""Outages: the program is killed or stopped, and started again much later.

No test can wait for the minutes that make an outage. Each one instead changes, in the
store of a stopped program, one of the two times that are compared at startup.
"""

import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from tests.end_to_end.program import Program, serving
from tests.server.support.service import simulate_outage

MANUAL = ("--clock", "manual")

HOUR = timedelta(hours=1)


def store_in(folder: Path) -> Path:
    return folder / "state" / "forewarn.db"


def time_of(text: str) -> datetime:
    return datetime.fromisoformat(text)


def outages(program: Program) -> list[Any]:
    return [fact["outage"] for fact in program.service.facts("OutageEnded")]


STOPPED = pytest.param(Program.stop, id="stopped", marks=pytest.mark.full)


@pytest.mark.parametrize("end", [pytest.param(Program.kill, id="killed"), STOPPED])
def test_after_an_outage_from_minute_1_to_30_a_reboot_starts_in_minute_44(
    tmp_path: Path, end: Callable[[Program], object]
) -> None:
    with serving(tmp_path, *MANUAL) as program:
        maintenance = program.service.announce(vms=["web-0"])
        program.service.advance(60)
        end(program)
    simulate_outage(store_in(tmp_path), timedelta(minutes=29))
    with serving(tmp_path, *MANUAL) as program:
        program.service.advance(2 * 3600)
        (started,) = program.service.facts("Started")
        shown = timedelta(minutes=44)
        assert time_of(started["at"]) - time_of(maintenance["announced_at"]) == shown
        assert len(outages(program)) == 1


# --- clocks that go on by themselves -----------------------------------------


def beat_earlier(folder: Path, gap: timedelta) -> datetime:
    """Move the last heartbeat back by `gap`, as if the program had ended earlier."""
    with closing(sqlite3.connect(store_in(folder))) as database:
        (left,) = database.execute(
            "SELECT value FROM settings WHERE name = 'heartbeat'"
        ).fetchone()
        last = time_of(left) - gap
        database.execute(
            "UPDATE settings SET value = ? WHERE name = 'heartbeat'",
            (last.isoformat(),),
        )
        database.commit()
    return last


@pytest.mark.full
def test_an_hour_without_power_is_recorded_as_one_outage(tmp_path: Path) -> None:
    with serving(tmp_path) as program:
        program.kill()
    last = beat_earlier(tmp_path, HOUR)
    for _ in range(2):
        with serving(tmp_path) as program:
            (outage,) = outages(program)
            program.stop()
        assert time_of(outage["since"]) == last
        assert HOUR < time_of(outage["until"]) - last < HOUR + timedelta(minutes=1)
