"""The journal and its stream, searched."""

import json
from typing import Any
from urllib.parse import urlencode

import pytest
from tests.server.control.test_journal import following, take
from tests.server.support.service import RunningService


def found(service: RunningService, *pairs: tuple[str, str]) -> list[Any]:
    query = urlencode([("limit", "1000"), *pairs])
    page = service.get(f"/v1/journal?{query}")
    assert page["next"] is None
    return list(page["items"])


def kinds(entries: list[Any]) -> list[str]:
    return [entry["fact"] for entry in entries]


@pytest.fixture(scope="module")
def past(shared: RunningService) -> RunningService:
    """A service with some history that no test changes."""
    made = shared.announce(vms=["web-0"], notice_seconds=1200)
    shared.approve_as("web-1", made["events"][0]["id"])
    shared.announce(vms=["lone"])
    shared.advance(3600)
    return shared


# --- pages -------------------------------------------------------------------


def test_a_group_finds_what_concerns_it_in_any_case(past: RunningService) -> None:
    of_lone = found(past, ("group", "LONE"))
    assert "Announced" in kinds(of_lone)
    assert "Completed" in kinds(of_lone)
    assert not {"web", "db"} & {entry["group"] for entry in of_lone}


def test_a_vm_finds_what_it_did_and_what_was_done_to_it(past: RunningService) -> None:
    assert "Approved" in kinds(found(past, ("vm", "web-1")))
    assert "WorkDone" in kinds(found(past, ("vm", "web-0")))
    assert "WorkDone" not in kinds(found(past, ("vm", "web-1")))


def test_a_name_finds_what_was_done_by_it(past: RunningService) -> None:
    assert kinds(found(past, ("by", "WEB-1"))) == ["Approved"]
    assert kinds(found(past, ("by", "admin"))) == ["Announced", "Announced"]


def test_a_fact_is_found_by_its_name(past: RunningService) -> None:
    assert kinds(found(past, ("fact", "approved"))) == ["Approved"]


def test_several_values_are_any_of_them(past: RunningService) -> None:
    some = found(past, ("fact", "Approved"), ("fact", "Started"))
    assert sorted(kinds(some)) == ["Approved", "Started", "Started"]


def test_several_names_are_all_of_them(past: RunningService) -> None:
    some = found(past, ("fact", "Started"), ("group", "lone"))
    assert kinds(some) == ["Started"]


def test_a_maintenance_is_found_by_an_events_id_too(past: RunningService) -> None:
    (approved,) = found(past, ("fact", "Approved"))
    by_event = found(past, ("maintenance", approved["event"].lower()))
    assert by_event == found(past, ("maintenance", approved["maintenance"]))
    assert kinds(by_event)[:3] == ["Announced", "Approved", "Started"]


def test_a_time_begins_with_itself_and_ends_before_the_other(
    past: RunningService,
) -> None:
    first, second = found(past, ("fact", "Started"))
    assert first["at"] < second["at"]
    since = found(past, ("since", second["at"]), ("fact", "Started"))
    until = found(past, ("until", second["at"]), ("fact", "Started"))
    assert (since, until) == ([second], [first])


def test_the_newest_may_come_first(past: RunningService) -> None:
    newest = past.get("/v1/journal?order=newest&limit=3")
    last = [entry["position"] for entry in past.facts()][-3:]
    assert [entry["position"] for entry in newest["items"]] == last[::-1]
    more = past.get(f"/v1/journal?order=newest&limit=3&after={newest['next']}")
    assert more["items"][0]["position"] == last[0] - 1


@pytest.mark.parametrize(
    ("query", "sentence"),
    [
        ("fact=Begun", "known are FleetChanged, "),
        ("since=2026-11-01T00:00:00", "a time with a zone"),
        ("until=yesterday", "a time with a zone"),
        ("group=", "group.0"),
        ("order=random", "order"),
        ("&".join(["vm=a"] * 101), "vm"),
    ],
)
def test_what_makes_no_sense_is_refused(
    past: RunningService, query: str, sentence: str
) -> None:
    answer = past.ask("GET", f"/v1/journal?{query}")
    assert answer.status == 422
    assert sentence in answer.detail


@pytest.mark.parametrize("path", ["/v1/journal", "/v1/stream"])
def test_a_maintenance_that_is_not_there_is_named(
    past: RunningService, path: str
) -> None:
    answer = past.ask("GET", f"{path}?maintenance=nobody")
    assert answer.status == 404
    assert "NOBODY" in answer.detail


# --- the stream --------------------------------------------------------------


def test_the_stream_tells_only_what_is_asked_for(past: RunningService) -> None:
    wanted = found(past, ("group", "lone"), ("fact", "Started"))
    with following(past, "?after=0&group=lone&fact=started") as stream:
        (told,) = take(stream, 1)
    assert [json.loads(told["data"])] == wanted


def test_the_stream_waits_for_what_is_asked_for(service: RunningService) -> None:
    with following(service, "?group=lone&fact=Announced") as stream:
        service.announce(vms=["web-0"])
        made = service.announce(vms=["lone"])
        (told,) = take(stream, 1)
    assert json.loads(told["data"])["maintenance"] == made["id"]


def test_the_stream_says_how_far_it_has_come_without_finding(
    past: RunningService,
) -> None:
    end = past.facts()[-1]["position"]
    with following(past, "?after=0&by=nobody") as stream:
        lines = [next(stream).decode().strip() for _ in range(3)]
    assert lines == [": the journal of forewarn", "", f"id: {end}"]
