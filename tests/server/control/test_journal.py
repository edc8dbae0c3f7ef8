"""Journal as pages and as a server-sent event stream."""

import json
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any
from urllib.request import Request, urlopen

import pytest
from tests.patience import PATIENCE
from tests.server.support.service import RunningService


@contextmanager
def following(
    service: RunningService, query: str = "", **headers: str
) -> Iterator[Any]:
    """Open the stream; underscores in the names of `headers` become dashes."""
    sent_headers = {name.replace("_", "-"): value for name, value in headers.items()}
    sent_headers["Authorization"] = f"Bearer {service.token}"
    request = Request(f"{service.control}/v1/stream{query}", headers=sent_headers)
    with urlopen(request, timeout=PATIENCE) as stream:
        yield stream


def read_stream(stream: Iterable[bytes], count: int) -> list[dict[str, str]]:
    """Read `count` events as a browser parses them."""
    events: list[dict[str, str]] = []
    event: dict[str, str] = {}
    for line in stream:
        text = line.decode().rstrip("\n")
        name, _, value = text.partition(": ")
        if name and text != "":
            event[name] = value
        elif "data" in event:
            events.append(event)
            event = {}
        if len(events) == count:
            break
    return events


def ids(events: list[dict[str, str]]) -> list[int]:
    return [int(event["id"]) for event in events]


# --- pages -------------------------------------------------------------------


def test_announcement_is_recorded_completely(service: RunningService) -> None:
    maintenance = service.announce(vms=["web-0"])
    (fact,) = service.facts("Announced")
    assert fact["announced"] == maintenance
    assert (fact["by"], fact["maintenance"]) == ("admin", maintenance["id"])


# --- the stream --------------------------------------------------------------


def test_stream_consists_of_server_sent_events(service: RunningService) -> None:
    with following(service) as stream:
        assert stream.headers.get_content_type() == "text/event-stream"
        assert stream.headers["Cache-Control"] == "no-store"


def test_stream_matches_the_journal(service: RunningService) -> None:
    service.announce(vms=["web-0"])
    facts = service.facts()
    with following(service, Last_Event_ID="0") as stream:
        events = read_stream(stream, len(facts))
    assert [json.loads(event["data"]) for event in events] == facts
    assert [event["event"] for event in events] == [fact["fact"] for fact in facts]


def test_stream_resumes_after_the_last_event(service: RunningService) -> None:
    service.announce(vms=["web-0"])
    last = len(service.facts())
    with following(service, Last_Event_ID="1") as stream:
        assert ids(read_stream(stream, last - 1)) == [*range(2, last + 1)]


def test_position_may_be_a_query_parameter(service: RunningService) -> None:
    service.announce(vms=["web-0"])
    with following(service, "?after=1") as stream:
        assert ids(read_stream(stream, 2)) == [2, 3]


def test_last_event_id_header_overrides_the_query(service: RunningService) -> None:
    service.announce(vms=["web-0"])
    with following(service, "?after=0", Last_Event_ID="2") as stream:
        assert ids(read_stream(stream, 1)) == [3]


def test_stream_without_a_position_starts_now(service: RunningService) -> None:
    before = len(service.facts())
    with following(service) as stream:
        service.announce(vms=["web-0"])
        (first,) = read_stream(stream, 1)
    assert (first["id"], first["event"]) == (str(before + 1), "Announced")


def test_reconnecting_reader_misses_nothing(service: RunningService) -> None:
    announcements = 20
    with ThreadPoolExecutor(4) as pool:
        for _ in range(announcements):
            pool.submit(service.announce, vms=["lone"])
        seen: list[int] = []
        while len(seen) < 2 * announcements:
            last = str(seen[-1] if seen else 0)
            with following(service, Last_Event_ID=last) as stream:
                seen += ids(read_stream(stream, 3))
    assert seen == [*range(1, len(seen) + 1)]


def test_several_readers_receive_the_same(service: RunningService) -> None:
    with (
        following(service, Last_Event_ID="0") as first_stream,
        following(service, Last_Event_ID="0") as second_stream,
    ):
        service.announce(vms=["web-0"])
        count = len(service.facts())
        assert read_stream(first_stream, count) == read_stream(second_stream, count)


@pytest.mark.parametrize("position", ["x", "-1", "", "9" * 30])
def test_invalid_position_gets_422(shared: RunningService, position: str) -> None:
    answer = shared.request("GET", "/v1/stream", Last_Event_ID=position)
    assert answer.status == 422
    assert answer.detail
