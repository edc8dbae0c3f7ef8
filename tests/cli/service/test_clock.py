"""Tests of `forewarn clock`."""

from tests.cli.support.command_line import Cli
from tests.cli.support.service import Service


def test_clock_show_prints_the_time_of_the_service(service: Service, run: Cli) -> None:
    service.set_clock("2026-01-01T12:00:00Z", clock="x60")
    assert run("clock show") == "2026-01-01 12:00:00Z (x60 clock)\n"


def test_the_clock_is_moved_by_a_duration(service: Service, run: Cli) -> None:
    answer = {"clock": "manual", "now": "2026-01-01T12:15:00Z"}
    service.respond("POST", "/v1/clock/advance", answer)
    assert run("clock advance 15m") == "2026-01-01 12:15:00Z (manual clock)\n"
    assert service.only("POST").body == {"seconds": 900}


def test_the_clock_is_moved_to_a_time(service: Service, run: Cli) -> None:
    answer = {"clock": "manual", "now": "2026-01-01T12:15:00Z"}
    service.respond("POST", "/v1/clock/advance", answer)
    run("clock advance 2026-01-01T13:15:00+01:00")
    assert service.only("POST").body == {"to": "2026-01-01T12:15:00+00:00"}


def test_stopped_clock_is_shown(service: Service, run: Cli) -> None:
    still = {
        "clock": "system",
        "now": "2026-01-02T18:00:00Z",
        "system_now": "2026-01-01T12:00:00Z",
        "stands_still_until": "2026-01-02T18:00:00Z",
    }
    service.respond("GET", "/v1/clock", still)
    first, second = run("clock show").splitlines()
    assert first == "2026-01-02 18:00:00Z (system clock)"
    assert second == (
        "paused until 2026-01-02 18:00:00Z (system clock: 2026-01-01 12:00:00Z)"
    )
