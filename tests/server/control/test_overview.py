"""What is going on, in one answer."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.server.conftest import Serve
from tests.server.control.test_tokens import holding
from tests.server.support.service import RunningService, a_service


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """One maintenance has ended, one has started, one is scheduled behind it."""
    with a_service(tmp_path_factory.mktemp("scene"), driver="operator") as service:
        over = service.announce(vms=["lone"])
        service.ask("POST", f"/v1/maintenances/{over['id']}/cancel", {})
        started = service.announce(vms=["web-0"])
        service.document("web-1")
        service.approve_as("web-1", started["events"][0]["id"])
        service.announce(host="host-a")
        yield service


def items(service: RunningService, query: str = "") -> list[Any]:
    return list(service.get(f"/v1/overview{query}")["items"])


def phases(found: list[Any]) -> list[str]:
    return [each["maintenance"]["phase"] for each in found]


# --- what is shown -----------------------------------------------------------


def test_what_is_live_is_shown_in_the_order_of_announcement(
    scene: RunningService,
) -> None:
    assert phases(items(scene)) == ["STARTED", "SCHEDULED"]


def test_each_is_shown_as_it_is_alone(scene: RunningService) -> None:
    for each in items(scene):
        name = each["maintenance"]["id"]
        assert each["maintenance"] == scene.get(f"/v1/maintenances/{name}")


def test_what_each_waits_for_is_what_explain_says(scene: RunningService) -> None:
    for each in items(scene):
        name = each["maintenance"]["id"]
        explained = scene.get(f"/v1/maintenances/{name}/explain")
        for key in ("due", "waits", "starts_at_latest"):
            assert each[key] == explained[key]


def test_of_what_a_long_queue_waits_for_the_first_twenty_are_told(serve: Serve) -> None:
    service = serve(driver="operator")
    for _ in range(23):
        service.announce(vms=["lone"])
    service.advance(900)
    *_, last = items(service)
    explained = service.get(f"/v1/maintenances/{last['maintenance']['id']}/explain")
    assert len(explained["waits"]) == 22
    assert last["waits"] == explained["waits"][:20]


def test_what_can_be_asked_is_told(scene: RunningService) -> None:
    assert [each["can"] for each in items(scene)] == [
        ["complete"],
        ["approve", "cancel"],
    ]


def test_who_has_seen_it_is_told_with_the_time(scene: RunningService) -> None:
    started, scheduled = items(scene)
    (sight,) = started["seen"]
    assert sight["vm"] == "web-1"
    assert sight["event"] == started["maintenance"]["events"][0]["id"]
    assert sight["at"] <= scene.get("/v1/clock")["now"]
    assert scheduled["seen"] == []


def test_who_has_just_seen_it_is_told_and_which_event(service: RunningService) -> None:
    made = service.announce(host="host-a")
    service.document("web-1")
    (found,) = items(service)
    assert [each["vm"] for each in found["seen"]] == ["web-1"]
    service.document("web-2")
    (found,) = items(service, f"?id={made['id']}")
    assert [each["vm"] for each in found["seen"]] == ["web-1", "web-2"]
    assert found["maintenance"] == service.get(f"/v1/maintenances/{made['id']}")


def test_the_time_and_the_position_of_the_moment_are_told(
    scene: RunningService,
) -> None:
    shown = scene.get("/v1/overview")
    assert {key: shown[key] for key in ("clock", "now")} == scene.get("/v1/clock")
    assert shown["position"] == len(scene.facts())


# --- by id -------------------------------------------------------------------


def test_whatever_is_named_is_shown_whatever_its_phase(scene: RunningService) -> None:
    (over,) = scene.get("/v1/maintenances?phase=CANCELED")["items"]
    (found,) = items(scene, f"?id={over['id'].lower()}")
    assert found["maintenance"] == over
    assert (found["due"], found["waits"], found["can"]) == (False, [], [])


def test_two_events_of_one_maintenance_are_one_item(scene: RunningService) -> None:
    (shared,) = scene.get("/v1/maintenances?phase=SCHEDULED")["items"]
    one, other = (each["id"] for each in shared["events"])
    (found,) = items(scene, f"?id={one}&id={other}&id={shared['id']}")
    assert found["maintenance"]["id"] == shared["id"]


def test_unknown_ids_are_left_out(scene: RunningService) -> None:
    (started,) = scene.get("/v1/maintenances?phase=STARTED")["items"]
    found = items(scene, f"?id=nobody&id={started['id']}")
    assert [each["maintenance"]["id"] for each in found] == [started["id"]]


def test_more_than_a_hundred_ids_are_refused(scene: RunningService) -> None:
    ids = "&".join(f"id={number}" for number in range(101))
    assert scene.ask("GET", f"/v1/overview?{ids}").status == 422


# --- pages -------------------------------------------------------------------


def paged(service: RunningService, query: str, limit: int) -> list[str]:
    found: list[str] = []
    after = ""
    while True:
        page = service.get(f"/v1/overview?limit={limit}{query}{after}")
        assert len(page["items"]) <= limit
        found += [each["maintenance"]["id"] for each in page["items"]]
        if page["next"] is None:
            return found
        after = f"&after={page['next']}"


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_pages_show_each_once_the_live_ones_first(
    scene: RunningService, limit: int
) -> None:
    query = "&since=2020-01-01T00:00:00Z"
    whole = [each["maintenance"]["id"] for each in items(scene, f"?{query}")]
    assert phases(items(scene, f"?{query}")) == ["STARTED", "SCHEDULED", "CANCELED"]
    assert paged(scene, query, limit) == whole


def test_what_has_ended_before_is_not_shown(service: RunningService) -> None:
    for vm in ("lone", "web-0"):
        made = service.announce(vms=[vm])
        service.ask("POST", f"/v1/maintenances/{made['id']}/cancel", {})
        service.advance(60)
    now = service.get("/v1/clock")["now"]
    assert items(service, f"?since={now}") == []
    service.announce(vms=["web-1"])
    service.advance(3600)
    (found,) = items(service, f"?since={now}")
    assert found["maintenance"]["phase"] == "COMPLETED"


def test_the_latest_end_comes_first(service: RunningService) -> None:
    ids = [service.announce(vms=["lone"])["id"] for _ in range(3)]
    for each in (ids[1], ids[0], ids[2]):
        service.ask("POST", f"/v1/maintenances/{each}/cancel", {})
    for limit in (1, 2, 100):
        query = "&since=2020-01-01T00:00:00Z"
        assert paged(service, query, limit) == [ids[2], ids[0], ids[1]]


@pytest.mark.parametrize(
    "query",
    [
        *("after=x", "after=e", "after=e-1", "since=noon", "limit=0"),
        *("id=", f"id={'x' * 256}"),
    ],
)
def test_what_makes_no_sense_is_refused(scene: RunningService, query: str) -> None:
    answer = scene.ask("GET", f"/v1/overview?{query}")
    assert answer.status == 422
    assert answer.detail


# --- for a group -------------------------------------------------------------


def test_a_group_is_shown_its_share(scene: RunningService) -> None:
    db = holding(scene, "db-team", "group", group="db")
    (shared,) = items(db)
    assert shared["maintenance"]["vms"] == ["db-0"]
    text = str(shared)
    assert "web" not in text
    assert "host-a" not in text


def test_a_group_cannot_name_what_is_of_others(scene: RunningService) -> None:
    db = holding(scene, "db-crew", "group", group="db")
    started, shared = (each["maintenance"] for each in items(scene))
    web_event = next(e["id"] for e in shared["events"] if e["group"] == "web")
    assert items(db, f"?id={started['id']}&id={web_event}") == []


def test_a_group_that_has_approved_cannot_approve_again(
    service: RunningService,
) -> None:
    db = holding(service, "db-team", "group", group="db")
    made = service.announce(host="host-a")
    own = next(each["id"] for each in made["events"] if each["group"] == "db")
    assert items(db)[0]["can"] == ["approve", "cancel"]
    service.approve_as("db-0", own)
    assert items(db)[0]["can"] == ["cancel"]
    assert items(service)[0]["can"] == ["approve", "cancel"]
