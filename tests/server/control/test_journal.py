"""The journal in pages and as a stream."""

import json
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from urllib.request import Request, urlopen

import pytest
from tests.patience import PATIENCE
from tests.server.support.service import RunningService, ask


@contextmanager
def following(
    service: RunningService, query: str = "", **headers: str
) -> Iterator[Any]:
    """Open the stream; underscores in the names of `headers` are dashes."""
    given = {name.replace("_", "-"): value for name, value in headers.items()}
    given["Authorization"] = f"Bearer {service.token}"
    request = Request(f"{service.control}/v1/stream{query}", headers=given)
    with urlopen(request, timeout=PATIENCE) as stream:
        yield stream


def take(stream: Iterable[bytes], count: int) -> list[dict[str, str]]:
    """Read `count` events as a browser does."""
    found: list[dict[str, str]] = []
    present: dict[str, str] = {}
    for line in stream:
        text = line.decode().rstrip("\n")
        name, _, value = text.partition(": ")
        if name and text != "":
            present[name] = value
        elif "data" in present:
            found.append(present)
            present = {}
        if len(found) == count:
            break
    return found


def ids(events: list[dict[str, str]]) -> list[int]:
    return [int(event["id"]) for event in events]


# --- pages -------------------------------------------------------------------


def test_positions_have_no_gaps(service: RunningService) -> None:
    service.announce(host="host-a")
    service.advance(3600)
    positions = [each["position"] for each in service.facts()]
    assert positions == [*range(1, len(positions) + 1)]


def test_every_entry_says_what_when_and_by_whom(service: RunningService) -> None:
    service.announce(vms=["web-0"])
    service.advance(3600)
    always = {"position", "at", "fact", "maintenance", "event", "group", "by", "via"}
    assert all(always <= each.keys() for each in service.facts())


def test_an_approval_is_written_down(service: RunningService) -> None:
    made = service.announce(vms=["web-0"])
    event = made["events"][0]["id"]
    service.approve_as("web-1", event)
    (fact,) = service.facts("Approved")
    assert (fact["by"], fact["via"], fact["group"]) == ("web-1", "metadata", "web")
    assert (fact["event"], fact["maintenance"]) == (event, made["id"])


def test_the_whole_life_is_written_down_in_order(service: RunningService) -> None:
    made = service.announce(vms=["web-0"])
    service.approve_as("web-0", made["events"][0]["id"])
    service.advance(5)
    life = [
        each["fact"] for each in service.facts() if each["maintenance"] == made["id"]
    ]
    assert life == [
        "Announced",
        "Approved",
        "Started",
        "WorkBegan",
        "WorkDone",
        "Completed",
    ]


def test_times_never_go_back(service: RunningService) -> None:
    service.announce(group="db")
    service.advance(3600)
    times = [each["at"] for each in service.facts()]
    assert times == sorted(times)


def test_what_was_announced_is_in_the_journal_whole(service: RunningService) -> None:
    made = service.announce(vms=["web-0"])
    (fact,) = service.facts("Announced")
    assert fact["announced"] == made
    assert (fact["by"], fact["maintenance"]) == ("admin", made["id"])


# --- the stream --------------------------------------------------------------


def test_the_stream_is_one_of_server_sent_events(service: RunningService) -> None:
    with following(service) as stream:
        assert stream.headers.get_content_type() == "text/event-stream"
        assert stream.headers["Cache-Control"] == "no-store"


def test_the_stream_tells_what_the_journal_tells(service: RunningService) -> None:
    service.announce(vms=["web-0"])
    facts = service.facts()
    with following(service, Last_Event_ID="0") as stream:
        events = take(stream, len(facts))
    assert [json.loads(event["data"]) for event in events] == facts
    assert [event["event"] for event in events] == [each["fact"] for each in facts]


def test_the_stream_goes_on_behind_the_last_event(service: RunningService) -> None:
    service.announce(vms=["web-0"])
    last = len(service.facts())
    with following(service, Last_Event_ID="1") as stream:
        assert ids(take(stream, last - 1)) == [*range(2, last + 1)]


def test_a_position_may_be_given_in_the_query(service: RunningService) -> None:
    service.announce(vms=["web-0"])
    with following(service, "?after=1") as stream:
        assert ids(take(stream, 2)) == [2, 3]


def test_the_header_wins_over_the_query(service: RunningService) -> None:
    service.announce(vms=["web-0"])
    with following(service, "?after=0", Last_Event_ID="2") as stream:
        assert ids(take(stream, 1)) == [3]


def test_without_a_position_the_stream_begins_now(service: RunningService) -> None:
    before = len(service.facts())
    with following(service) as stream:
        service.announce(vms=["web-0"])
        (first,) = take(stream, 1)
    assert (first["id"], first["event"]) == (str(before + 1), "Announced")


def test_what_happens_is_told_at_once(service: RunningService) -> None:
    with following(service, Last_Event_ID="0") as stream:
        take(stream, len(service.facts()))
        made = service.announce(vms=["web-0"])
        (told,) = take(stream, 1)
    assert json.loads(told["data"])["maintenance"] == made["id"]


def test_who_comes_back_again_and_again_misses_nothing(service: RunningService) -> None:
    announcements = 20
    with ThreadPoolExecutor(4) as pool:
        for _ in range(announcements):
            pool.submit(service.announce, vms=["lone"])
        seen: list[int] = []
        while len(seen) < 2 * announcements:
            last = str(seen[-1] if seen else 0)
            with following(service, Last_Event_ID=last) as stream:
                seen += ids(take(stream, 3))
    assert seen == [*range(1, len(seen) + 1)]


def test_several_followers_are_told_the_same(service: RunningService) -> None:
    with (
        following(service, Last_Event_ID="0") as one,
        following(service, Last_Event_ID="0") as other,
    ):
        service.announce(vms=["web-0"])
        count = len(service.facts())
        assert take(one, count) == take(other, count)


@pytest.mark.parametrize("position", ["x", "-1", "", "9" * 30])
def test_a_position_that_makes_no_sense_is_refused(
    shared: RunningService, position: str
) -> None:
    answer = shared.ask("GET", "/v1/stream", Last_Event_ID=position)
    assert answer.status == 422
    assert answer.detail


def test_the_stream_needs_a_token(shared: RunningService) -> None:
    assert ask("GET", f"{shared.control}/v1/stream").status == 401
