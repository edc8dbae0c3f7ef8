"""The document checker of the load test: reports exactly what VMs must not see."""

import json
from collections.abc import Mapping

import pytest
from benchmarks.fleet import FleetVm
from benchmarks.http_connection import ReceivedResponse
from benchmarks.oracle import Oracle

NOON = "Thu, 01 Jan 2026 12:00:00 GMT"
QUARTER_PAST = "Thu, 01 Jan 2026 12:15:00 GMT"

ONE = FleetVm(name="web-0", group="web", audience="web", host="a")
OTHER = FleetVm(name="web-1", group="web", audience="web", host="b")

Event = Mapping[str, object]


def an_event(**other: object) -> Event:
    return {
        "EventId": "F95E4F90-8A9C-4F05-9B4B-2C4E6A7D1E11",
        "EventStatus": "Scheduled",
        "EventType": "Reboot",
        "ResourceType": "VirtualMachine",
        "Resources": ["web-0"],
        "NotBefore": QUARTER_PAST,
        "Description": "",
        "EventSource": "Platform",
        "DurationInSeconds": -1,
        **other,
    }


STARTED = an_event(EventStatus="Started", NotBefore="")


def a_response(
    incarnation: int, *events: Event, date: str = NOON, tag: str = ""
) -> ReceivedResponse:
    document = {"DocumentIncarnation": incarnation, "Events": events}
    return ReceivedResponse(
        status=200,
        headers={"etag": tag or f'"e.{incarnation}"', "date": date},
        body=json.dumps(document).encode(),
        seconds=0.0,
    )


@pytest.fixture
def oracle() -> Oracle:
    return Oracle()


def test_correct_documents_get_no_complaints(oracle: Oracle) -> None:
    oracle.read(ONE, a_response(0), 0)
    oracle.read(ONE, a_response(1, an_event()), 0)
    oracle.read(ONE, a_response(2, STARTED, date=QUARTER_PAST), 1)
    oracle.read(ONE, a_response(3), 2)
    assert oracle.complaints == []
    assert oracle.floor(OTHER) == 3


def test_approved_start_may_be_early(oracle: Oracle) -> None:
    oracle.read(ONE, a_response(1, an_event()), 0)
    oracle.approved.add(str(STARTED["EventId"]))
    oracle.read(ONE, a_response(2, STARTED), 1)
    assert oracle.complaints == []


def only_complaint(oracle: Oracle, *responses: ReceivedResponse, floor: int = 0) -> str:
    """Return the only complaint about responses to one VM."""
    for response in responses:
        oracle.read(ONE, response, floor)
    (text,) = oracle.complaints
    return text


def test_early_start_without_approval_is_reported(oracle: Oracle) -> None:
    responses = (a_response(1, an_event()), a_response(2, STARTED))
    assert "started early" in only_complaint(oracle, *responses)


def test_return_to_scheduled_is_reported(oracle: Oracle) -> None:
    first = a_response(1, an_event())
    started = a_response(2, STARTED, date=QUARTER_PAST)
    again = a_response(3, an_event())
    assert "Started, then Scheduled" in only_complaint(oracle, first, started, again)


def test_event_that_reappears_is_reported(oracle: Oracle) -> None:
    responses = (a_response(1, an_event()), a_response(2), a_response(3, an_event()))
    assert "came back" in only_complaint(oracle, *responses)


def test_older_document_is_reported(oracle: Oracle) -> None:
    assert "after 2" in only_complaint(oracle, a_response(1), floor=2)


def test_changed_epoch_is_reported(oracle: Oracle) -> None:
    assert "epoch" in only_complaint(oracle, a_response(1), a_response(2, tag='"f.2"'))


def test_two_documents_with_one_tag_are_reported(oracle: Oracle) -> None:
    oracle.read(ONE, a_response(1, an_event()), 0)
    oracle.read(OTHER, a_response(1), 0)
    assert "two documents" in oracle.complaints[0]


@pytest.mark.parametrize(
    "change",
    [
        {"NotBefore": NOON},
        {"Resources": ["web-1"]},
        {"EventType": "Redeploy"},
        {"DurationInSeconds": 9},
    ],
)
def test_change_of_a_shown_event_is_reported(
    oracle: Oracle, change: Mapping[str, object]
) -> None:
    responses = (a_response(1, an_event()), a_response(2, an_event(**change)))
    assert only_complaint(oracle, *responses)


@pytest.mark.parametrize(
    "change",
    [
        {"EventId": "F95E4F90"},
        {"EventStatus": "Completed"},
        {"EventType": "Pause"},
        {"DurationInSeconds": "9"},
        {"More": 1},
    ],
)
def test_malformed_event_is_reported(
    oracle: Oracle, change: Mapping[str, object]
) -> None:
    assert only_complaint(oracle, a_response(1, an_event(**change)))


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b'{"Events":[]}'])
def test_malformed_document_is_reported(oracle: Oracle, body: bytes) -> None:
    response = ReceivedResponse(
        status=200, headers={"etag": '"e.0"'}, body=body, seconds=0.0
    )
    assert "not a document" in only_complaint(oracle, response)


def test_tag_of_another_document_is_reported(oracle: Oracle) -> None:
    assert "is tagged" in only_complaint(oracle, a_response(1, tag='"e.2"'))


def test_event_that_vanishes_without_starting_is_recorded(oracle: Oracle) -> None:
    oracle.read(ONE, a_response(1, an_event()), 0)
    oracle.read(ONE, a_response(2), 0)
    assert oracle.never_started == {STARTED["EventId"]}
