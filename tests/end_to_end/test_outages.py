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
from tests.end_to_end.program import Program, run, serving
from tests.server.support.service import simulate_outage

MANUAL = ("--clock", "manual")

HOUR = timedelta(hours=1)

#: A group that is disabled until its first poll.
FLEET = '[[vms]]\nname = "lone"\n'


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


@pytest.mark.full
def test_after_an_outage_of_30_hours_etags_are_still_valid(tmp_path: Path) -> None:
    fleet = tmp_path / "fleet.toml"
    fleet.write_text(FLEET)
    with serving(tmp_path, *MANUAL, fleet=fleet) as program:
        tag = program.service.as_vm("lone").headers["ETag"]
        program.service.advance(1)  # also saves the time of the poll
        program.kill()
    simulate_outage(store_in(tmp_path), 30 * HOUR)
    with serving(tmp_path, *MANUAL, fleet=fleet) as program:
        answer = program.service.as_vm("lone", If_None_Match=tag)
        assert (answer.status, answer.headers["ETag"]) == (304, tag)
        assert len(outages(program)) == 1


@pytest.mark.full
def test_an_outage_is_in_the_journal_and_the_log(tmp_path: Path) -> None:
    with serving(tmp_path, *MANUAL) as program:
        program.stop()
        assert program.log == ""
    since = simulate_outage(store_in(tmp_path), HOUR)
    with serving(tmp_path, *MANUAL) as program:
        where = {"FOREWARN_URL": program.service.control, "COLUMNS": "80"}
        output = run(tmp_path, "journal", **where).out
        program.stop()
        first, last = (
            f"{moment:%Y-%m-%d %H:%M:%S}" for moment in (since, since + HOUR)
        )
        words = " ".join(output.split())
        assert f" {last}Z forewarn OutageEnded the service is back; " in words
        assert words.endswith(f"since {first} UTC")
        assert max(map(len, output.splitlines())) <= 80
        (line,) = program.log.splitlines()
        assert since.isoformat() in line
        assert (since + HOUR).isoformat() in line


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


@pytest.mark.full
@pytest.mark.parametrize(("hours", "is_one"), [(5, False), (30, True)])
def test_with_a_clock_600_times_as_fast_an_outage_is_600_times_as_long(
    tmp_path: Path, hours: int, is_one: bool
) -> None:
    """The clock continues at the last time in the store, here that of the fleet."""
    fast = ("--clock", "x600")
    with serving(tmp_path, *fast) as program:
        program.kill()
    beat_earlier(tmp_path, hours * HOUR)
    with serving(tmp_path, *fast) as program:
        assert bool(outages(program)) is is_one


@pytest.mark.full
def test_a_fast_clock_that_is_ahead_continues_without_an_outage(tmp_path: Path) -> None:
    fast = ("--clock", "x86400")  # a day in a second
    with serving(tmp_path, *fast) as program:
        before = program.service.get("/v1/clock")["now"]
        program.stop()
    with serving(tmp_path, *fast) as program:
        assert time_of(program.service.get("/v1/clock")["now"]) >= time_of(before)
        assert outages(program) == []
