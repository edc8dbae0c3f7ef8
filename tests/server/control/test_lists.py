"""Lists in pages, and requests that are carried out once."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.server.support.service import Answer, RunningService, a_service

LISTS = ("vms", "groups", "hosts", "maintenances", "events", "journal")


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A service with something in every list, in several phases."""
    with a_service(tmp_path_factory.mktemp("full")) as made:
        for _ in range(4):
            made.announce(host="host-a")
        made.announce(host="host-b")
        last = made.announce(vms=["lone"])
        made.ask("POST", f"/v1/maintenances/{last['id']}/cancel")
        yield made


def pages(service: RunningService, path: str, limit: int) -> list[list[Any]]:
    """Read a list to its end."""
    glue = "&" if "?" in path else "?"
    found: list[list[Any]] = []
    after = ""
    while True:
        page = service.get(f"{path}{glue}limit={limit}{after}")
        assert page.keys() == {"items", "next"}
        found.append(page["items"])
        if page["next"] is None:
            return found
        after = f"&after={page['next']}"


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("limit", [1, 2, 3, 5, 1000])
def test_pages_put_together_are_the_list(
    full: RunningService, name: str, limit: int
) -> None:
    whole = full.get(f"/v1/{name}")["items"]
    assert len(whole) > 1
    found = pages(full, f"/v1/{name}", limit)
    assert [item for page in found for item in page] == whole
    assert {len(page) for page in found[:-1]} <= {limit}


@pytest.mark.parametrize("name", LISTS)
def test_a_list_that_is_exactly_a_page_long_ends_there(
    full: RunningService, name: str
) -> None:
    size = len(full.get(f"/v1/{name}")["items"])
    assert len(pages(full, f"/v1/{name}", size)) == 1


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("limit", ["0", "-1", "1001", "x", "1.5", "", "9" * 30])
def test_a_limit_that_makes_no_sense_is_refused(
    full: RunningService, name: str, limit: str
) -> None:
    answer = full.ask("GET", f"/v1/{name}?limit={limit}")
    assert answer.status == 422
    assert "limit" in answer.detail


@pytest.mark.parametrize("name", ["maintenances", "events", "journal"])
@pytest.mark.parametrize("after", ["x", "-1", "1.x", "9" * 30, "%C2%B2"])
def test_a_cursor_that_makes_no_sense_is_refused(
    full: RunningService, name: str, after: str
) -> None:
    answer = full.ask("GET", f"/v1/{name}?after={after}")
    assert answer.status == 422
    assert "after" in answer.detail


@pytest.mark.parametrize("name", LISTS)
def test_after_the_end_there_is_nothing(full: RunningService, name: str) -> None:
    after = "zzz" if name in ("vms", "groups", "hosts") else "999999"
    assert full.get(f"/v1/{name}?after={after}") == {"items": [], "next": None}


def test_a_page_has_a_hundred_items_unless_said_otherwise(
    service: RunningService,
) -> None:
    vms = [{"name": f"vm-{number:03}"} for number in range(101)]
    service.ask("PUT", "/v1/fleet?remove=true", {"vms": vms})
    page = service.get("/v1/vms")
    assert len(page["items"]) == 100
    assert page["next"] is not None


# --- phases ------------------------------------------------------------------


@pytest.mark.parametrize("name", ["maintenances", "events"])
@pytest.mark.parametrize("phase", ["SCHEDULED", "scheduled", "CANCELED", "STARTED"])
def test_a_list_can_be_of_one_phase(
    full: RunningService, name: str, phase: str
) -> None:
    canceled = {"maintenances": 1, "events": 1}
    scheduled = {"maintenances": 5, "events": 9}
    expected = {"SCHEDULED": scheduled, "CANCELED": canceled}.get(phase.upper(), {})
    found = full.get(f"/v1/{name}?phase={phase}")["items"]
    assert len(found) == expected.get(name, 0)


def test_a_list_of_one_phase_holds_no_other(full: RunningService) -> None:
    found = full.get("/v1/maintenances?phase=CANCELED")["items"]
    assert {each["phase"] for each in found} == {"CANCELED"}


@pytest.mark.parametrize("name", ["maintenances", "events"])
def test_a_list_of_several_phases_is_in_order_and_in_pages(
    full: RunningService, name: str
) -> None:
    path = f"/v1/{name}?phase=CANCELED&phase=SCHEDULED"
    whole = full.get(f"/v1/{name}")["items"]
    assert full.get(path)["items"] == whole
    assert [item for page in pages(full, path, 2) for item in page] == whole


def test_an_unknown_phase_is_refused_with_those_that_are_known(
    full: RunningService,
) -> None:
    answer = full.ask("GET", "/v1/maintenances?phase=OVER")
    assert answer.status == 422
    assert "SCHEDULED" in answer.detail


# --- once --------------------------------------------------------------------

REBOOT = {"type": "Reboot", "vms": ["web-0"]}


def test_a_request_with_a_key_is_carried_out_once(service: RunningService) -> None:
    first, second = (
        service.ask("POST", "/v1/maintenances", REBOOT, Idempotency_Key="k")
        for _ in range(2)
    )
    assert (second.status, second.json) == (first.status, first.json)
    assert second.headers.get_content_type() == "application/json"
    assert len(service.get("/v1/maintenances")["items"]) == 1


def test_a_key_that_is_used_many_times_at_once_is_used_once(
    service: RunningService,
) -> None:
    def announce(_: int) -> Answer:
        return service.ask("POST", "/v1/maintenances", REBOOT, Idempotency_Key="k")

    with ThreadPoolExecutor(8) as pool:
        answers = [*pool.map(announce, range(8))]
    assert {each.status for each in answers} == {201}
    assert all(each.json == answers[0].json for each in answers)
    assert len(service.get("/v1/maintenances")["items"]) == 1


def test_without_a_key_a_request_is_carried_out_each_time(
    service: RunningService,
) -> None:
    for _ in range(2):
        service.ask("POST", "/v1/maintenances", REBOOT)
    assert len(service.get("/v1/maintenances")["items"]) == 2


def test_a_key_with_another_body_is_refused(service: RunningService) -> None:
    service.ask("POST", "/v1/maintenances", REBOOT, Idempotency_Key="k")
    other = {**REBOOT, "vms": ["web-1"]}
    answer = service.ask("POST", "/v1/maintenances", other, Idempotency_Key="k")
    assert answer.status == 422
    assert "Idempotency-Key" in answer.detail
    assert len(service.get("/v1/maintenances")["items"]) == 1


def test_a_key_for_another_path_is_refused(service: RunningService) -> None:
    made = service.announce(vms=["web-0"])
    path = f"/v1/maintenances/{made['id']}"
    assert service.ask("POST", f"{path}/cancel", Idempotency_Key="k").status == 200
    assert service.ask("POST", f"{path}/complete", Idempotency_Key="k").status == 422


@pytest.mark.parametrize(("hours", "times"), [(23, 1), (25, 2)])
def test_a_key_is_kept_for_24_hours(
    service: RunningService, hours: int, times: int
) -> None:
    service.ask("POST", "/v1/maintenances", REBOOT, Idempotency_Key="k")
    service.advance(hours * 3600)
    service.ask("POST", "/v1/maintenances", REBOOT, Idempotency_Key="k")
    assert len(service.get("/v1/maintenances")["items"]) == times


def test_the_same_answer_is_given_although_life_went_on(
    service: RunningService,
) -> None:
    made = service.announce(vms=["web-0"])
    path = f"/v1/events/{made['events'][0]['id']}/approve"
    first = service.ask("POST", path, Idempotency_Key="k")
    service.advance(3600)
    second = service.ask("POST", path, Idempotency_Key="k")
    assert (second.status, second.json) == (200, first.json)


def test_the_clock_is_moved_once(service: RunningService) -> None:
    answers = [
        service.ask("POST", "/v1/clock/advance", {"seconds": 60}, Idempotency_Key="k")
        for _ in range(2)
    ]
    assert answers[0].json == answers[1].json == service.get("/v1/clock")


def test_what_was_refused_can_be_asked_again_with_the_same_key(
    service: RunningService,
) -> None:
    path = "/v1/vms/new"
    body = {"type": "Reboot", "vms": ["new"]}
    refused = service.ask("POST", "/v1/maintenances", body, Idempotency_Key="k")
    service.ask("PUT", path, {})
    made = service.ask("POST", "/v1/maintenances", body, Idempotency_Key="k")
    assert (refused.status, made.status) == (404, 201)


@pytest.mark.parametrize("key", ["", "k" * 256])
def test_a_key_that_is_none_is_refused(shared: RunningService, key: str) -> None:
    answer = shared.ask("POST", "/v1/maintenances", REBOOT, Idempotency_Key=key)
    assert answer.status == 422
