"""Filters of the journal and its stream."""

import json
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

import pytest
from tests.server.control.test_journal import following, read_stream
from tests.server.support.service import RunningService


def search_journal(service: RunningService, *pairs: tuple[str, str]) -> list[Any]:
    query = urlencode([("limit", "1000"), *pairs])
    page = service.get(f"/v1/journal?{query}")
    assert page["next"] is None
    return list(page["items"])


def kinds(entries: list[Any]) -> list[str]:
    return [entry["fact"] for entry in entries]


@pytest.fixture(scope="module")
def past(shared: RunningService) -> RunningService:
    """Return a service with some history that no test changes."""
    maintenance = shared.announce(vms=["web-0"], notice_seconds=1200)
    shared.approve_as("web-1", maintenance["events"][0]["id"])
    shared.announce(vms=["lone"])
    shared.advance(3600)
    return shared


# --- pages -------------------------------------------------------------------


def test_group_filter_finds_facts_of_the_group(past: RunningService) -> None:
    entries = search_journal(past, ("group", "LONE"))
    assert {"Announced", "Completed"} <= {*kinds(entries)}
    assert not {"web", "db"} & {entry["group"] for entry in entries}


def test_vm_filter_finds_actions_by_and_on_the_vm(past: RunningService) -> None:
    assert "Approved" in kinds(search_journal(past, ("vm", "web-1")))
    assert "WorkDone" in kinds(search_journal(past, ("vm", "web-0")))


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([("by", "WEB-1")], ["Approved"]),
        ([("by", "admin")], ["Announced", "Announced"]),
        ([("fact", "approved")], ["Approved"]),
        ([("fact", "Approved"), ("fact", "Started")], ["Approved", *["Started"] * 2]),
        ([("fact", "Started"), ("group", "lone")], ["Started"]),
    ],
)
def test_filters_find_what_matches_all_of_them(
    past: RunningService, pairs: list[tuple[str, str]], expected: list[str]
) -> None:
    assert sorted(kinds(search_journal(past, *pairs))) == expected


def test_maintenance_filter_accepts_an_event_id(past: RunningService) -> None:
    (approved,) = search_journal(past, ("fact", "Approved"))
    by_event = search_journal(past, ("maintenance", approved["event"].lower()))
    assert by_event == search_journal(past, ("maintenance", approved["maintenance"]))
    assert kinds(by_event)[:3] == ["Announced", "Approved", "Started"]


def test_since_is_inclusive_and_until_exclusive(
    past: RunningService,
) -> None:
    first, second = search_journal(past, ("fact", "Started"))
    assert datetime.fromisoformat(first["at"]) < datetime.fromisoformat(second["at"])
    since = search_journal(past, ("since", second["at"]), ("fact", "Started"))
    until = search_journal(past, ("until", second["at"]), ("fact", "Started"))
    assert (since, until) == ([second], [first])


def test_order_newest_reverses_the_pages(past: RunningService) -> None:
    newest = past.get("/v1/journal?order=newest&limit=3")
    last = [entry["position"] for entry in past.facts()][-3:]
    assert [entry["position"] for entry in newest["items"]] == last[::-1]
    more = past.get(f"/v1/journal?order=newest&limit=3&after={newest['next']}")
    assert more["items"][0]["position"] == last[0] - 1


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("fact=Begun", "expected one of: FleetChanged, "),
        ("since=2026-11-01T00:00:00", "a time with a time zone"),
        ("until=yesterday", "a time with a time zone"),
        ("group=", "group.0"),
        ("order=random", "order"),
        ("&".join(["vm=a"] * 101), "vm"),
    ],
)
def test_invalid_filter_gets_422(
    past: RunningService, query: str, sentence: str
) -> None:
    answer = past.request("GET", f"/v1/journal?{query}")
    assert answer.status == 422
    assert sentence in answer.detail


@pytest.mark.parametrize("path", ["/v1/journal", "/v1/stream"])
def test_unknown_maintenance_gets_404(past: RunningService, path: str) -> None:
    answer = past.request("GET", f"{path}?maintenance=nobody")
    assert answer.status == 404
    assert "nobody" in answer.detail


# --- stream ------------------------------------------------------------------


def test_stream_sends_only_matching_facts(past: RunningService) -> None:
    expected = search_journal(past, ("group", "lone"), ("fact", "Started"))
    with following(past, "?after=0&group=lone&fact=started") as stream:
        (event,) = read_stream(stream, 1)
    assert [json.loads(event["data"])] == expected


def test_stream_waits_for_matching_facts(service: RunningService) -> None:
    with following(service, "?group=lone&fact=Announced") as stream:
        service.announce(vms=["web-0"])
        maintenance = service.announce(vms=["lone"])
        (event,) = read_stream(stream, 1)
    assert json.loads(event["data"])["maintenance"] == maintenance["id"]


def test_stream_reports_its_position_without_a_match(
    past: RunningService,
) -> None:
    end = past.facts()[-1]["position"]
    with following(past, "?after=0&by=nobody") as stream:
        lines = [next(stream).decode().strip() for _ in range(3)]
    assert lines == [": the journal of forewarn", "", f"id: {end}"]
