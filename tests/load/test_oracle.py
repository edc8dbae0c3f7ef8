"""The oracle of the load complains of what must not be seen, and of nothing else."""

import json
from collections.abc import Mapping

import pytest
from benchmarks.fleet import Machine
from benchmarks.line import Answer
from benchmarks.oracle import Oracle

NOON = "Thu, 01 Jan 2026 12:00:00 GMT"
QUARTER_PAST = "Thu, 01 Jan 2026 12:15:00 GMT"

ONE = Machine(name="web-0", group="web", audience="web", host="a")
OTHER = Machine(name="web-1", group="web", audience="web", host="b")

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


def an_answer(
    incarnation: int, *events: Event, date: str = NOON, tag: str = ""
) -> Answer:
    document = {"DocumentIncarnation": incarnation, "Events": events}
    return Answer(
        status=200,
        headers={"etag": tag or f'"e.{incarnation}"', "date": date},
        body=json.dumps(document).encode(),
        seconds=0.0,
    )


@pytest.fixture
def oracle() -> Oracle:
    return Oracle()


def test_a_life_as_it_should_be_is_no_reason_to_complain(oracle: Oracle) -> None:
    oracle.read(ONE, an_answer(0), 0)
    oracle.read(ONE, an_answer(1, an_event()), 0)
    oracle.read(ONE, an_answer(2, STARTED, date=QUARTER_PAST), 1)
    oracle.read(ONE, an_answer(3), 2)
    assert oracle.complaints == []
    assert oracle.floor(OTHER) == 3


def test_an_approval_is_a_reason_to_start_early(oracle: Oracle) -> None:
    oracle.read(ONE, an_answer(1, an_event()), 0)
    oracle.approved.add(str(STARTED["EventId"]))
    oracle.read(ONE, an_answer(2, STARTED), 1)
    assert oracle.complaints == []


def complaint(oracle: Oracle, *answers: Answer, floor: int = 0) -> str:
    """The only complaint about answers to one VM."""
    for each in answers:
        oracle.read(ONE, each, floor)
    (said,) = oracle.complaints
    return said


def test_a_start_without_approval_before_its_time_is_seen(oracle: Oracle) -> None:
    answers = (an_answer(1, an_event()), an_answer(2, STARTED))
    assert "started early" in complaint(oracle, *answers)


def test_a_way_back_is_seen(oracle: Oracle) -> None:
    first = an_answer(1, an_event())
    started = an_answer(2, STARTED, date=QUARTER_PAST)
    again = an_answer(3, an_event())
    assert "Started, then Scheduled" in complaint(oracle, first, started, again)


def test_an_event_that_comes_back_is_seen(oracle: Oracle) -> None:
    answers = (an_answer(1, an_event()), an_answer(2), an_answer(3, an_event()))
    assert "came back" in complaint(oracle, *answers)


def test_an_older_document_is_seen(oracle: Oracle) -> None:
    assert "after 2" in complaint(oracle, an_answer(1), floor=2)


def test_another_epoch_is_seen(oracle: Oracle) -> None:
    assert "epoch" in complaint(oracle, an_answer(1), an_answer(2, tag='"f.2"'))


def test_two_documents_with_one_tag_are_seen(oracle: Oracle) -> None:
    oracle.read(ONE, an_answer(1, an_event()), 0)
    oracle.read(OTHER, an_answer(1), 0)
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
def test_what_changes_after_it_was_shown_is_seen(
    oracle: Oracle, change: Mapping[str, object]
) -> None:
    answers = (an_answer(1, an_event()), an_answer(2, an_event(**change)))
    assert complaint(oracle, *answers)


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
def test_an_event_that_is_none_is_seen(
    oracle: Oracle, change: Mapping[str, object]
) -> None:
    assert complaint(oracle, an_answer(1, an_event(**change)))


@pytest.mark.parametrize("body", [b"", b"{}", b"[]", b'{"Events":[]}'])
def test_a_document_that_is_none_is_seen(oracle: Oracle, body: bytes) -> None:
    answer = Answer(status=200, headers={"etag": '"e.0"'}, body=body, seconds=0.0)
    assert "not a document" in complaint(oracle, answer)


def test_a_tag_of_another_document_is_seen(oracle: Oracle) -> None:
    assert "is tagged" in complaint(oracle, an_answer(1, tag='"e.2"'))


def test_who_vanishes_without_having_started_is_remembered(oracle: Oracle) -> None:
    oracle.read(ONE, an_answer(1, an_event()), 0)
    oracle.read(ONE, an_answer(2), 0)
    assert oracle.never_started == {STARTED["EventId"]}
