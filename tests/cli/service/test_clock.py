"""Tests of `forewarn clock`."""

import pytest
from tests.cli.support.service import Service

from forewarn.cli import main

Capture = pytest.CaptureFixture[str]


def test_clock_show_prints_the_time_of_the_service(
    service: Service, capsys: Capture
) -> None:
    service.set_clock("2026-01-01T12:00:00Z", clock="x60")
    assert main.main(["clock", "show"]) == 0
    assert capsys.readouterr().out == "2026-01-01 12:00:00Z (x60 clock)\n"


def test_the_clock_is_moved_by_a_duration(service: Service, capsys: Capture) -> None:
    answer = {"clock": "manual", "now": "2026-01-01T12:15:00Z"}
    service.respond("POST", "/v1/clock/advance", answer)
    assert main.main(["clock", "advance", "15m"]) == 0
    assert service.only("POST").body == {"seconds": 900}
    assert capsys.readouterr().out == "2026-01-01 12:15:00Z (manual clock)\n"


def test_the_clock_is_moved_to_a_time(service: Service) -> None:
    answer = {"clock": "manual", "now": "2026-01-01T12:15:00Z"}
    service.respond("POST", "/v1/clock/advance", answer)
    assert main.main(["clock", "advance", "2026-01-01T13:15:00+01:00"]) == 0
    assert service.only("POST").body == {"to": "2026-01-01T12:15:00+00:00"}


def test_clock_that_cannot_be_moved_is_reported(
    service: Service, capsys: Capture
) -> None:
    sentence = "the clock is not manual; it cannot be moved"
    service.refuse("POST", "/v1/clock/advance", 409, sentence)
    assert main.main(["clock", "advance", "15m"]) == 1
    assert capsys.readouterr().err == f"forewarn: {sentence}\n"


def test_a_time_without_a_zone_is_wrong_usage(capsys: Capture) -> None:
    assert main.main(["clock", "advance", "2026-01-01T12:15:00"]) == 2
    assert "has no zone" in capsys.readouterr().err
