"""Tests of `forewarn clock`."""

import pytest
from tests.cli.support.command_line import Cli
from tests.cli.support.service import Service

from forewarn.cli import main

Capture = pytest.CaptureFixture[str]


def test_clock_show_prints_the_time_of_the_service(service: Service, run: Cli) -> None:
    service.set_clock("2026-01-01T12:00:00Z", clock="x60")
    assert run("clock show") == "2026-01-01 12:00:00Z (x60 clock)\n"


def test_the_clock_is_moved_by_a_duration(service: Service, capsys: Capture) -> None:
    answer = {"clock": "manual", "now": "2026-01-01T12:15:00Z"}
    service.respond("POST", "/v1/clock/advance", answer)
    assert main.main(["clock", "advance", "15m"]) == 0
    assert service.only("POST").body == {"seconds": 900}
    assert capsys.readouterr().out == "2026-01-01 12:15:00Z (manual clock)\n"


def test_the_clock_is_moved_to_a_time(service: Service, run: Cli) -> None:
    answer = {"clock": "manual", "now": "2026-01-01T12:15:00Z"}
    service.respond("POST", "/v1/clock/advance", answer)
    run("clock advance 2026-01-01T13:15:00+01:00")
    assert service.only("POST").body == {"to": "2026-01-01T12:15:00+00:00"}


def test_clock_that_cannot_be_moved_is_reported(service: Service, run: Cli) -> None:
    sentence = "the clock is not manual; it cannot be moved"
    service.refuse("POST", "/v1/clock/advance", 409, sentence)
    assert run("clock advance 15m", code=1) == f"forewarn: {sentence}\n"


def test_a_time_without_a_zone_is_wrong_usage(run: Cli) -> None:
    assert "has no zone" in run("clock advance 2026-01-01T12:15:00", code=2)
