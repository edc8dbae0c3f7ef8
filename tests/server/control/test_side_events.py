"""Side events of the stream: clock and faults."""

import json
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.server.control.test_journal import following, read_stream
from tests.server.control.test_tokens import client_with_token
from tests.server.support.service import RunningService

from forewarn.clocks import ManualClock
from forewarn.core.health import Health
from forewarn.core.tokens import Role
from forewarn.engine.health import HealthMonitor
from forewarn.engine.tokens import TokenHolder
from forewarn.server.control.context import Services
from forewarn.server.control.routes.journal import SideEvent, SideEvents

BOTH = "?also=clock&also=faults"


def next_side_event(stream: Any) -> tuple[str, Any]:
    """Return name and data of the next event that is not a fact."""
    while True:
        (event,) = read_stream(stream, 1)
        if event["event"] in ("clock", "faults"):
            assert "id" not in event
            return event["event"], json.loads(event["data"])


# --- at the start ------------------------------------------------------------


def test_stream_starts_with_the_current_state(service: RunningService) -> None:
    with following(service, BOTH) as stream:
        assert next_side_event(stream) == ("clock", service.get("/v1/clock"))
        assert next_side_event(stream) == ("faults", {"items": []})


def test_current_state_precedes_the_journal(service: RunningService) -> None:
    with following(service, f"{BOTH}&after=0") as stream:
        names = [event["event"] for event in read_stream(stream, 3)]
    assert names[:2] == ["clock", "faults"]
    assert names[2][0].isupper()


def test_stream_without_the_also_parameter_sends_only_facts(
    service: RunningService,
) -> None:
    with following(service) as stream:
        service.advance(60)
        service.request("POST", "/v1/faults", {"kind": "500"})
        service.announce(vms=["lone"])
        (first,) = read_stream(stream, 1)
    assert first["event"] == "Announced"


def test_unknown_side_event_gets_422(service: RunningService) -> None:
    answer = service.request("GET", "/v1/stream?also=weather")
    assert answer.status == 422
    assert "also" in answer.detail


# --- changes -----------------------------------------------------------------


def test_advanced_clock_is_sent_even_without_facts(
    service: RunningService,
) -> None:
    with following(service, "?also=clock") as stream:
        next_side_event(stream)
        before = len(service.facts())
        service.advance(60)
        assert next_side_event(stream) == ("clock", service.get("/v1/clock"))
        assert len(service.facts()) == before


def test_running_clock_is_not_sent_with_every_fact(serve: Any) -> None:
    service = serve(clock="system")
    with following(service, "?also=clock") as stream:
        next_side_event(stream)
        for _ in range(2):
            service.announce(vms=["lone"])
        names = [event["event"] for event in read_stream(stream, 4)]
    assert names == ["Announced", "Published"] * 2


def test_facts_keep_their_ids(service: RunningService) -> None:
    with following(service, f"{BOTH}&after=0") as stream:
        service.announce(vms=["web-0"])
        service.advance(3600)
        count = len(service.facts())
        facts: list[int] = []
        while len(facts) < count:
            (event,) = read_stream(stream, 1)
            facts += [int(event["id"])] if "id" in event else []
    assert facts == [*range(1, count + 1)]


def test_setting_and_clearing_a_fault_is_sent(
    service: RunningService,
) -> None:
    with following(service, "?also=faults") as stream:
        assert next_side_event(stream) == ("faults", {"items": []})
        fault = service.request("POST", "/v1/faults", {"kind": "503"}).json
        assert next_side_event(stream) == ("faults", {"items": [fault]})
        service.request("DELETE", f"/v1/faults/{fault['id']}")
        assert next_side_event(stream) == ("faults", {"items": []})


def test_end_of_a_fault_is_sent(service: RunningService) -> None:
    with following(service, "?also=faults") as stream:
        next_side_event(stream)
        service.request("POST", "/v1/faults", {"kind": "500", "count": 1})
        assert next_side_event(stream)[1]["items"][0]["left"] == 1
        assert service.as_vm("web-0").status == 500
        assert next_side_event(stream) == ("faults", {"items": []})
        service.request("POST", "/v1/faults", {"kind": "500", "duration_seconds": 2})
        assert len(next_side_event(stream)[1]["items"]) == 1
        assert next_side_event(stream) == ("faults", {"items": []})


def test_group_token_receives_no_faults(service: RunningService) -> None:
    web = client_with_token(service, "web-team", "group", group="web")
    service.request("POST", "/v1/faults", {"kind": "slow", "vms": ["lone"]})
    with following(web, BOTH) as stream:
        assert next_side_event(stream)[0] == "clock"
        assert next_side_event(stream) == ("faults", {"items": []})


# --- keep-alive --------------------------------------------------------------


@pytest.fixture
def side_events() -> SideEvents:
    clock = ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
    parts = SimpleNamespace(
        engine=SimpleNamespace(clock=clock, health=HealthMonitor(clock)),
        health=Health,
        plane=SimpleNamespace(faults=SimpleNamespace(all=list), limited=list),
        token_limits=SimpleNamespace(recent=list),
    )
    holder = TokenHolder(name="ops", role=Role.VIEWER)
    return SideEvents(
        cast(Services, parts),
        holder,
        [SideEvent.FAULTS, SideEvent.CLOCK, SideEvent.CLOCK, SideEvent.LIMITS],
    )


def test_keep_alive_sends_only_the_clock(side_events: SideEvents) -> None:
    assert len([*side_events.changed()]) == 3
    (sign,) = side_events.periodic()
    assert sign.startswith('event: clock\ndata: {"clock": "manual", "now": "2026')
    assert [*side_events.changed()] == []
