"""Overview: live maintenance operations and their blockers in one response."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any

import pytest
from tests.server.conftest import Serve
from tests.server.control.test_tokens import client_with_token
from tests.server.support.service import RunningService, a_service


@pytest.fixture(scope="module")
def overview_service(
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[RunningService]:
    """Start a service with one canceled, one started and one waiting maintenance."""
    with a_service(tmp_path_factory.mktemp("scene"), driver="operator") as service:
        over = service.announce(vms=["lone"])
        service.request("POST", f"/v1/maintenances/{over['id']}/cancel", {})
        started = service.announce(vms=["web-0"])
        service.document("web-1")
        service.approve_as("web-1", started["events"][0]["id"])
        service.announce(host="host-a")
        yield service


def items(service: RunningService, query: str = "") -> list[Any]:
    return list(service.get(f"/v1/overview{query}")["items"])


def phases(found: list[Any]) -> list[str]:
    return [item["maintenance"]["phase"] for item in found]


# --- live maintenance operations ---------------------------------------------


def test_live_maintenance_is_in_announcement_order(
    overview_service: RunningService,
) -> None:
    assert phases(items(overview_service)) == ["STARTED", "SCHEDULED"]


def test_item_matches_the_single_maintenance(overview_service: RunningService) -> None:
    for item in items(overview_service):
        name = item["maintenance"]["id"]
        assert item["maintenance"] == overview_service.get(f"/v1/maintenances/{name}")


def test_waits_match_the_explanation(overview_service: RunningService) -> None:
    for item in items(overview_service):
        name = item["maintenance"]["id"]
        explained = overview_service.get(f"/v1/maintenances/{name}/explain")
        for key in ("due", "waits", "starts_at_latest"):
            assert item[key] == explained[key]


def test_only_the_first_twenty_waits_are_shown(serve: Serve) -> None:
    service = serve(driver="operator")
    for _ in range(23):
        service.announce(vms=["lone"])
    service.advance(900)
    *_, last = items(service)
    explained = service.get(f"/v1/maintenances/{last['maintenance']['id']}/explain")
    assert len(explained["waits"]) == 22
    assert last["waits"] == explained["waits"][:20]


def test_possible_commands_are_shown(overview_service: RunningService) -> None:
    assert [item["can"] for item in items(overview_service)] == [
        ["complete"],
        ["approve", "cancel"],
    ]


def test_vms_that_read_the_event_are_shown_with_the_time(
    overview_service: RunningService,
) -> None:
    started, scheduled = items(overview_service)
    (sight,) = started["seen"]
    assert sight["vm"] == "web-1"
    assert sight["event"] == started["maintenance"]["events"][0]["id"]
    now = datetime.fromisoformat(overview_service.get("/v1/clock")["now"])
    assert datetime.fromisoformat(sight["at"]) <= now
    assert scheduled["seen"] == []


def test_recent_reads_are_shown_with_the_event(service: RunningService) -> None:
    maintenance = service.announce(host="host-a")
    service.document("web-1")
    (item,) = items(service)
    assert [sighting["vm"] for sighting in item["seen"]] == ["web-1"]
    service.document("web-2")
    (item,) = items(service, f"?id={maintenance['id']}")
    assert [sighting["vm"] for sighting in item["seen"]] == ["web-1", "web-2"]
    assert item["maintenance"] == service.get(f"/v1/maintenances/{maintenance['id']}")


def test_overview_has_position_and_time(
    overview_service: RunningService,
) -> None:
    overview = overview_service.get("/v1/overview")
    assert {key: overview[key] for key in ("clock", "now")} == overview_service.get(
        "/v1/clock"
    )
    assert overview["position"] == len(overview_service.facts())


# --- by id -------------------------------------------------------------------


def test_maintenance_given_by_id_is_shown_in_any_phase(
    overview_service: RunningService,
) -> None:
    (over,) = overview_service.get("/v1/maintenances?phase=CANCELED")["items"]
    (item,) = items(overview_service, f"?id={over['id'].lower()}")
    assert item["maintenance"] == over
    assert (item["due"], item["waits"], item["can"]) == (False, [], [])


def test_two_events_of_one_maintenance_are_one_item(
    overview_service: RunningService,
) -> None:
    (shared,) = overview_service.get("/v1/maintenances?phase=SCHEDULED")["items"]
    first_id, second_id = (event["id"] for event in shared["events"])
    (item,) = items(
        overview_service, f"?id={first_id}&id={second_id}&id={shared['id']}"
    )
    assert item["maintenance"]["id"] == shared["id"]


def test_unknown_ids_are_omitted(overview_service: RunningService) -> None:
    (started,) = overview_service.get("/v1/maintenances?phase=STARTED")["items"]
    found_items = items(overview_service, f"?id=nobody&id={started['id']}")
    assert [item["maintenance"]["id"] for item in found_items] == [started["id"]]


def test_more_than_100_ids_get_422(overview_service: RunningService) -> None:
    ids = "&".join(f"id={number}" for number in range(101))
    assert overview_service.request("GET", f"/v1/overview?{ids}").status == 422


# --- pages -------------------------------------------------------------------


def paged(service: RunningService, query: str, limit: int) -> list[str]:
    item_ids: list[str] = []
    after = ""
    while True:
        page = service.get(f"/v1/overview?limit={limit}{query}{after}")
        assert len(page["items"]) <= limit
        item_ids += [item["maintenance"]["id"] for item in page["items"]]
        if page["next"] is None:
            return item_ids
        after = f"&after={page['next']}"


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_pages_list_each_item_once_live_ones_first(
    overview_service: RunningService, limit: int
) -> None:
    query = "&since=2020-01-01T00:00:00Z"
    whole = [item["maintenance"]["id"] for item in items(overview_service, f"?{query}")]
    assert phases(items(overview_service, f"?{query}")) == [
        "STARTED",
        "SCHEDULED",
        "CANCELED",
    ]
    assert paged(overview_service, query, limit) == whole


def test_maintenance_that_ended_before_since_is_omitted(
    service: RunningService,
) -> None:
    for vm in ("lone", "web-0"):
        maintenance = service.announce(vms=[vm])
        service.request("POST", f"/v1/maintenances/{maintenance['id']}/cancel", {})
        service.advance(60)
    now = service.get("/v1/clock")["now"]
    assert items(service, f"?since={now}") == []
    service.announce(vms=["web-1"])
    service.advance(3600)
    (item,) = items(service, f"?since={now}")
    assert item["maintenance"]["phase"] == "COMPLETED"


def test_ended_maintenance_is_sorted_latest_first(service: RunningService) -> None:
    ids = [service.announce(vms=["lone"])["id"] for _ in range(3)]
    for maintenance_id in (ids[1], ids[0], ids[2]):
        service.request("POST", f"/v1/maintenances/{maintenance_id}/cancel", {})
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
def test_invalid_query_gets_422(overview_service: RunningService, query: str) -> None:
    answer = overview_service.request("GET", f"/v1/overview?{query}")
    assert answer.status == 422
    assert answer.detail


# --- group tokens ------------------------------------------------------------


def test_group_sees_its_share(overview_service: RunningService) -> None:
    db = client_with_token(overview_service, "db-team", "group", group="db")
    (shared,) = items(db)
    assert shared["maintenance"]["vms"] == ["db-0"]
    text = str(shared)
    assert "web" not in text
    assert "host-a" not in text


def test_group_cannot_read_other_groups_by_id(overview_service: RunningService) -> None:
    db = client_with_token(overview_service, "db-crew", "group", group="db")
    started, shared = (item["maintenance"] for item in items(overview_service))
    web_event = next(e["id"] for e in shared["events"] if e["group"] == "web")
    assert items(db, f"?id={started['id']}&id={web_event}") == []


def test_group_cannot_approve_twice(
    service: RunningService,
) -> None:
    db = client_with_token(service, "db-team", "group", group="db")
    maintenance = service.announce(host="host-a")
    own = next(event["id"] for event in maintenance["events"] if event["group"] == "db")
    assert items(db)[0]["can"] == ["approve", "cancel"]
    service.approve_as("db-0", own)
    assert items(db)[0]["can"] == ["cancel"]
    assert items(service)[0]["can"] == ["approve", "cancel"]
