"""Clock over the control API: reading the time and advancing a manual clock."""

from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from tests.engine.support.system import HOUR, NOON
from tests.engine.support.system_time import SystemTime, an_engine
from tests.server.conftest import Serve
from tests.server.support.service import YEAR, RunningService
from tests.stores.builders import opened, sqlite_store

from forewarn.server.control.routes.rehearsal import clock_view
from forewarn.stores.sqlite import MEMORY


def advance_to(service: RunningService, moment: object) -> int:
    return service.request("POST", "/v1/clock/advance", {"to": moment}).status


def test_clock_has_a_name_and_a_time(service: RunningService) -> None:
    clock = service.get("/v1/clock")
    assert clock["clock"] == "manual"
    assert clock["now"].endswith("Z")


def test_advance_returns_the_clock(service: RunningService) -> None:
    answer = service.request("POST", "/v1/clock/advance", {"seconds": 60})
    assert answer.status == 200
    assert answer.json == service.get("/v1/clock")


def test_clock_can_be_advanced_to_a_time(service: RunningService) -> None:
    assert advance_to(service, f"{YEAR}-01-01T12:00:00Z") == 200
    assert service.get("/v1/clock")["now"] == f"{YEAR}-01-01T12:00:00Z"


def test_time_in_another_zone_is_shown_in_utc(service: RunningService) -> None:
    assert advance_to(service, f"{YEAR}-01-01T14:00:00+02:00") == 200
    assert service.get("/v1/clock")["now"] == f"{YEAR}-01-01T12:00:00Z"


def test_metadata_responses_carry_the_time_of_the_clock(
    service: RunningService,
) -> None:
    advance_to(service, f"{YEAR}-01-01T12:00:00Z")
    headers = service.as_vm("web-0").headers
    noon = datetime(YEAR, 1, 1, 12, tzinfo=UTC)
    assert headers["Date"] == format_datetime(noon, usegmt=True)
    assert headers["Forewarn-Clock"] == "manual"


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"seconds": 1, "to": f"{YEAR}-01-01T12:00:00Z"},
        {"seconds": "60"},
        {"seconds": 1.5},
        {"seconds": True},
        {"seconds": -1},
        {"seconds": 10**30},
        {"seconds": 100 * 366 * 24 * 3600},
        {"to": f"{YEAR}-01-01T12:00:00"},
        {"to": f"{YEAR}-01-01"},
        {"to": "noon"},
        {"to": 1},
        {"to": "1999-01-01T00:00:00Z"},
        {"to": "9999-12-31T23:59:59Z"},
        {"to": "9999-12-31T23:59:59-14:00"},
        {"minutes": 1},
    ],
)
def test_invalid_advance_gets_422(
    service: RunningService, body: dict[str, object]
) -> None:
    before = service.get("/v1/clock")
    answer = service.request("POST", "/v1/clock/advance", body)
    assert answer.status == 422
    assert answer.detail
    assert service.get("/v1/clock") == before


@pytest.mark.parametrize("clock", ["system", "x60"])
def test_only_a_manual_clock_can_be_advanced(serve: Serve, clock: str) -> None:
    service = serve(clock=clock)
    assert service.get("/v1/clock")["clock"] == clock
    answer = service.request("POST", "/v1/clock/advance", {"seconds": 60})
    assert answer.status == 409
    assert clock in answer.detail


def test_clock_behind_the_journal_shows_both_times() -> None:
    with opened(sqlite_store(MEMORY)) as store:
        engine = an_engine(store, SystemTime(NOON))
    assert clock_view(engine) == {"clock": "system", "now": "2026-01-01T12:00:00Z"}
    engine.health.write_succeeded(NOON + 30 * HOUR)
    assert clock_view(engine) == {
        "clock": "system",
        "now": "2026-01-02T18:00:00Z",
        "system_now": "2026-01-01T12:00:00Z",
        "stands_still_until": "2026-01-02T18:00:00Z",
    }
