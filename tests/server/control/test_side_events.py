"""What the stream tells beside the facts."""

import json
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.server.control.test_journal import following, take
from tests.server.control.test_tokens import holding
from tests.server.support.service import RunningService

from forewarn.clocks import ManualClock
from forewarn.core.tokens import Role
from forewarn.engine.tokens import TokenHolder
from forewarn.server.control.context import Services
from forewarn.server.control.routes.journal import SideEvent, SideEvents

BOTH = "?also=clock&also=faults"


def told(stream: Any) -> tuple[str, Any]:
    """The next event that is no fact: its name, and what it says."""
    while True:
        (event,) = take(stream, 1)
        if event["event"] in ("clock", "faults"):
            assert "id" not in event
            return event["event"], json.loads(event["data"])


# --- at the beginning --------------------------------------------------------


def test_at_the_beginning_all_of_it_is_told(service: RunningService) -> None:
    with following(service, BOTH) as stream:
        assert told(stream) == ("clock", service.get("/v1/clock"))
        assert told(stream) == ("faults", {"items": []})


def test_it_is_told_before_a_long_journal(service: RunningService) -> None:
    with following(service, f"{BOTH}&after=0") as stream:
        names = [event["event"] for event in take(stream, 3)]
    assert names[:2] == ["clock", "faults"]
    assert names[2][0].isupper()


def test_whoever_does_not_ask_for_it_is_told_facts_alone(
    service: RunningService,
) -> None:
    with following(service) as stream:
        service.advance(60)
        service.ask("POST", "/v1/faults", {"kind": "500"})
        service.announce(vms=["lone"])
        (first,) = take(stream, 1)
    assert first["event"] == "Announced"


def test_what_cannot_be_told_is_refused(service: RunningService) -> None:
    answer = service.ask("GET", "/v1/stream?also=weather")
    assert answer.status == 422
    assert "also" in answer.detail


# --- when it changes ---------------------------------------------------------


def test_a_clock_that_was_moved_is_told_though_nothing_happened(
    service: RunningService,
) -> None:
    with following(service, "?also=clock") as stream:
        told(stream)
        before = len(service.facts())
        service.advance(60)
        assert told(stream) == ("clock", service.get("/v1/clock"))
        assert len(service.facts()) == before


def test_a_clock_that_runs_is_not_told_with_every_fact(serve: Any) -> None:
    service = serve(clock="system")
    with following(service, "?also=clock") as stream:
        told(stream)
        for _ in range(2):
            service.announce(vms=["lone"])
        names = [event["event"] for event in take(stream, 4)]
    assert names == ["Announced", "Published"] * 2


def test_facts_are_told_with_their_ids_as_ever(service: RunningService) -> None:
    with following(service, f"{BOTH}&after=0") as stream:
        service.announce(vms=["web-0"])
        service.advance(3600)
        count = len(service.facts())
        facts: list[int] = []
        while len(facts) < count:
            (event,) = take(stream, 1)
            facts += [int(event["id"])] if "id" in event else []
    assert facts == [*range(1, count + 1)]


def test_a_fault_is_told_when_it_is_set_and_when_it_is_cleared(
    service: RunningService,
) -> None:
    with following(service, "?also=faults") as stream:
        assert told(stream) == ("faults", {"items": []})
        made = service.ask("POST", "/v1/faults", {"kind": "503"}).json
        assert told(stream) == ("faults", {"items": [made]})
        service.ask("DELETE", f"/v1/faults/{made['id']}")
        assert told(stream) == ("faults", {"items": []})


def test_a_fault_that_ends_by_itself_is_told(service: RunningService) -> None:
    with following(service, "?also=faults") as stream:
        told(stream)
        service.ask("POST", "/v1/faults", {"kind": "500", "count": 1})
        assert told(stream)[1]["items"][0]["left"] == 1
        assert service.as_vm("web-0").status == 500
        assert told(stream) == ("faults", {"items": []})
        service.ask("POST", "/v1/faults", {"kind": "500", "for_seconds": 0.05})
        assert len(told(stream)[1]["items"]) == 1
        assert told(stream) == ("faults", {"items": []})


def test_a_group_is_told_of_no_faults(service: RunningService) -> None:
    web = holding(service, "web-team", "group", group="web")
    service.ask("POST", "/v1/faults", {"kind": "slow", "vms": ["lone"]})
    with following(web, BOTH) as stream:
        assert told(stream)[0] == "clock"
        assert told(stream) == ("faults", {"items": []})


# --- with signs of life ------------------------------------------------------


@pytest.fixture
def beside() -> SideEvents:
    clock = ManualClock(datetime(2026, 1, 1, tzinfo=UTC))
    parts = SimpleNamespace(
        engine=SimpleNamespace(clock=clock),
        plane=SimpleNamespace(faults=SimpleNamespace(all=list)),
    )
    holder = TokenHolder(name="ops", role=Role.VIEWER)
    return SideEvents(
        cast(Services, parts),
        holder,
        [SideEvent.FAULTS, SideEvent.CLOCK, SideEvent.CLOCK],
    )


def test_a_sign_of_life_tells_the_clock_alone(beside: SideEvents) -> None:
    assert len([*beside.changed()]) == 2
    (sign,) = beside.periodic()
    assert sign.startswith('event: clock\ndata: {"clock": "manual", "now": "2026')
    assert [*beside.changed()] == []
