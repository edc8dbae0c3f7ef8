"""Tests of `forewarn maintenance wait`."""

import argparse
from dataclasses import dataclass

import pytest
from tests.cli.support.command_line import Cli
from tests.cli.support.samples import M1, Json, a_maintenance, page
from tests.cli.support.service import Service, close_connection

from forewarn.cli.api import ControlApi
from forewarn.cli.operate.wait import wait_for
from forewarn.cli.responses import maintenance_from
from forewarn.errors import Conflict, TimedOut

PATH = f"/v1/maintenances/{M1}"
STARTED = a_maintenance(phase="STARTED", started_at="2026-01-01T12:15:00Z")
STUCK = {**STARTED, "stuck_since": "2026-01-01T12:16:00Z"}
COMPLETED = a_maintenance(phase="COMPLETED", ended_at="2026-01-01T12:20:00Z")


@dataclass(slots=True)
class FakeTime:
    """A clock that moves only during pauses."""

    now: float = 1000.0
    pauses: int = 0

    def pause(self, seconds: float) -> None:
        self.now += seconds
        self.pauses += 1


def waited(
    service: Service,
    *states: Json,
    goal: str = "completed",
    timeout: int | None = None,
    at: str = M1,
    time: FakeTime | None = None,
) -> str:
    """Wait while the operation goes through these states; return its last phase."""
    for state in states:
        service.respond("GET", PATH, state)
    args, clock = argparse.Namespace(timeout=timeout), time or FakeTime()
    setattr(args, "for", goal)
    plain = wait_for(
        ControlApi(service.url, "secret"),
        f"/v1/maintenances/{at}",
        args,
        now=lambda: clock.now,
        pause=clock.pause,
    )
    return maintenance_from(plain).phase


@pytest.mark.parametrize(
    ("goal", "phase"),
    [
        ("started", "STARTED"),
        ("started", "COMPLETED"),
        ("started", "FAILED"),
        ("completed", "COMPLETED"),
        ("canceled", "CANCELED"),
    ],
)
def test_wait_ends_with_the_state_it_is_for(
    service: Service, goal: str, phase: str
) -> None:
    time = FakeTime()
    states = (a_maintenance(), a_maintenance(), a_maintenance(phase=phase))
    assert waited(service, *states, goal=goal, time=time) == phase
    assert time.pauses == 2


@pytest.mark.parametrize(
    ("goal", "phase"),
    [
        ("started", "CANCELED"),
        ("completed", "CANCELED"),
        ("completed", "FAILED"),
        ("canceled", "STARTED"),
        ("canceled", "COMPLETED"),
    ],
)
def test_wait_for_what_can_no_longer_happen_fails(
    service: Service, goal: str, phase: str
) -> None:
    with pytest.raises(Conflict, match=f"m-1 is {phase}, so it cannot be {goal}"):
        waited(service, a_maintenance(), a_maintenance(phase=phase), goal=goal)


def test_wait_ends_at_its_time_limit(service: Service) -> None:
    time = FakeTime()
    with pytest.raises(TimedOut, match="m-1 was not completed within 3 s: it is START"):
        waited(service, STARTED, timeout=3, time=time)
    assert (time.now, time.pauses) == (1003.0, 3)


def test_no_response_takes_longer_than_the_time_limit() -> None:
    limits: list[float] = []

    class SlowApi(ControlApi):
        def request(
            self, method: str, path: str, body: object = None, *, timeout: float = 60.0
        ) -> object:
            limits.append(timeout)
            return COMPLETED if len(limits) == 2 else STARTED

    args, clock = argparse.Namespace(timeout=5), FakeTime()
    setattr(args, "for", "completed")
    api = SlowApi("http://127.0.0.1:1", "secret")
    wait_for(api, PATH, args, now=lambda: clock.now, pause=clock.pause)
    assert limits == [5.0, 4.0]


def test_stuck_operation_is_reported_once_each_time(
    service: Service, capsys: pytest.CaptureFixture[str]
) -> None:
    waited(service, STARTED, STUCK, STUCK, STARTED, STUCK, COMPLETED)
    report = "m-1 is stuck; to see why, run `forewarn maintenance explain m-1`"
    assert capsys.readouterr().err == f"forewarn: {report}\n" * 2


def test_wait_continues_while_the_service_is_away(service: Service) -> None:
    service.respond("GET", PATH, STARTED)
    for _ in range(4):  # a lost request is repeated once
        service.reply_with("GET", PATH, close_connection)
    assert waited(service, COMPLETED) == "COMPLETED"


def test_operation_found_by_a_name_is_still_found_after_its_end(
    service: Service,
) -> None:
    service.respond("GET", "/v1/maintenances/web-0", STARTED)
    assert waited(service, COMPLETED, at="web-0") == "COMPLETED"


def test_exit_code_shows_how_the_wait_ended(service: Service, run: Cli) -> None:
    service.respond("GET", PATH, a_maintenance(phase="CANCELED"))
    assert run("maintenance wait m-1 --for canceled") == (
        "m-1 (Reboot of web-0, web-1) is CANCELED\n"
    )
    assert "so it cannot be completed" in run("maintenance wait m-1", code=1)
    service.respond("GET", "/v1/maintenances", page(STARTED))
    service.replies["GET", PATH].clear()
    service.respond("GET", PATH, STARTED)
    assert "was not completed" in run("maintenance wait --timeout 0s", code=3)
    assert "--for: " in run("maintenance wait m-1 --for ended", code=2)
