"""Paged lists and phase filters."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.server.support.service import RunningService, a_service

LISTS = ("vms", "groups", "hosts", "maintenances", "events", "journal")


@pytest.fixture(scope="module")
def full(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """Start a service with entries in every list, in several phases."""
    with a_service(tmp_path_factory.mktemp("full")) as service:
        for _ in range(4):
            service.announce(host="host-a")
        service.announce(host="host-b")
        last = service.announce(vms=["lone"])
        service.request("POST", f"/v1/maintenances/{last['id']}/cancel")
        yield service


def pages(service: RunningService, path: str, limit: int) -> list[list[Any]]:
    """Read a list to its end and return its pages."""
    glue = "&" if "?" in path else "?"
    pages_read: list[list[Any]] = []
    after = ""
    while True:
        page = service.get(f"{path}{glue}limit={limit}{after}")
        pages_read.append(page["items"])
        if page["next"] is None:
            return pages_read
        after = f"&after={page['next']}"


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("limit", [1, 2, 3, 5, 1000])
def test_pages_add_up_to_the_list(full: RunningService, name: str, limit: int) -> None:
    whole = full.get(f"/v1/{name}")["items"]
    assert len(whole) > 1
    page_list = pages(full, f"/v1/{name}", limit)
    assert [item for page in page_list for item in page] == whole
    assert {len(page) for page in page_list[:-1]} <= {limit}


@pytest.mark.parametrize("name", LISTS)
def test_list_of_exactly_one_page_ends_there(full: RunningService, name: str) -> None:
    size = len(full.get(f"/v1/{name}")["items"])
    assert len(pages(full, f"/v1/{name}", size)) == 1


@pytest.mark.parametrize("name", LISTS)
@pytest.mark.parametrize("limit", ["0", "-1", "1001", "x", "1.5", "", "9" * 30])
def test_invalid_limit_gets_422(full: RunningService, name: str, limit: str) -> None:
    answer = full.request("GET", f"/v1/{name}?limit={limit}")
    assert answer.status == 422
    assert "limit" in answer.detail


@pytest.mark.parametrize("name", ["maintenances", "events", "journal"])
@pytest.mark.parametrize("after", ["x", "-1", "1.x", "9" * 30, "%C2%B2"])
def test_invalid_cursor_gets_422(full: RunningService, name: str, after: str) -> None:
    answer = full.request("GET", f"/v1/{name}?after={after}")
    assert answer.status == 422
    assert "after" in answer.detail


@pytest.mark.parametrize("name", LISTS)
def test_cursor_after_the_end_returns_an_empty_page(
    full: RunningService, name: str
) -> None:
    after = "zzz" if name in ("vms", "groups", "hosts") else "999999"
    assert full.get(f"/v1/{name}?after={after}") == {"items": [], "next": None}


def test_default_page_size_is_100(
    service: RunningService,
) -> None:
    vms = [{"name": f"vm-{number:03}"} for number in range(101)]
    service.request("PUT", "/v1/fleet?remove=true", {"vms": vms})
    page = service.get("/v1/vms")
    assert len(page["items"]) == 100
    assert page["next"] is not None


# --- phases ------------------------------------------------------------------


@pytest.mark.parametrize("name", ["maintenances", "events"])
@pytest.mark.parametrize("phase", ["SCHEDULED", "scheduled", "CANCELED", "STARTED"])
def test_list_can_be_filtered_by_phase(
    full: RunningService, name: str, phase: str
) -> None:
    canceled = {"maintenances": 1, "events": 1}
    scheduled = {"maintenances": 5, "events": 9}
    expected = {"SCHEDULED": scheduled, "CANCELED": canceled}.get(phase.upper(), {})
    filtered = full.get(f"/v1/{name}?phase={phase}")["items"]
    assert len(filtered) == expected.get(name, 0)


@pytest.mark.parametrize("name", ["maintenances", "events"])
def test_list_of_several_phases_keeps_order_and_pages(
    full: RunningService, name: str
) -> None:
    path = f"/v1/{name}?phase=CANCELED&phase=SCHEDULED"
    whole = full.get(f"/v1/{name}")["items"]
    assert full.get(path)["items"] == whole
    assert [item for page in pages(full, path, 2) for item in page] == whole


def test_unknown_phase_gets_422_with_the_known_phases(
    full: RunningService,
) -> None:
    answer = full.request("GET", "/v1/maintenances?phase=OVER")
    assert answer.status == 422
    assert "SCHEDULED" in answer.detail
