"""Scrubbing: a scrubbed recording reveals no owner and stays usable."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.recordings.recordings import (
    GUID,
    NOON,
    a_header,
    a_raw_event,
    a_recorded_document,
    a_recording,
    text_of,
)

from forewarn.protocol.codec import parse_date, rfc1123
from forewarn.protocol.versions import VERSIONS
from forewarn.recordings.format import (
    RecordedDocument,
    RecordedFailure,
    Recording,
    parse_recording,
)
from forewarn.recordings.scrubber import BEGAN, NO_DESCRIPTION, Scrubber


def scrubbed(recording: Recording) -> Recording:
    scrubber = Scrubber(recording.header)
    lines = [scrubber.scrub(line) for line in recording.lines]
    return replace(recording, header=scrubber.header, lines=lines)


def the_event(recording: Recording, number: int = 0) -> dict[str, object]:
    document = recording.documents[number].document
    assert document is not None
    (event,) = json.loads(json.dumps(document["Events"]))
    return dict(event)


@pytest.mark.parametrize(
    ("name", "fake"),
    [
        ("web-0", "vm-0"),
        ("_web-0", "_vm-0"),
        ("WestNO_1", "vm-0_1"),
        ("_role_IN_12", "_vm-0_12"),
        ("flex_ab12cd34", "vm-0"),
        ("customer_4915112345678", "vm-0"),
        ("", "vm-0"),
    ],
)
def test_a_name_keeps_its_format(name: str, fake: str) -> None:
    recording = scrubbed(
        a_recording(a_recorded_document(a_raw_event(Resources=[name])))
    )
    assert the_event(recording)["Resources"] == [fake]


def test_a_name_has_the_same_replacement_throughout_the_recording() -> None:
    recording = scrubbed(
        a_recording(
            a_recorded_document(a_raw_event(Resources=["west_0", "db", "WEST_1"])),
            a_recorded_document(a_raw_event(Resources=["db"]), after=9.0),
            header=a_header(vm="west_1"),
        )
    )
    assert recording.header.vm == "vm-0_1"
    assert the_event(recording, 0)["Resources"] == ["vm-0_0", "vm-1", "vm-0_1"]
    assert the_event(recording, 1)["Resources"] == ["vm-1"]


def test_the_header_keeps_nothing_that_identifies_the_owner() -> None:
    odd = replace(a_header("2020-07-01-ours"), recorded_with="ours 1.2")
    header = scrubbed(a_recording(header=odd)).header
    assert header.api_version in VERSIONS
    assert header.recorded_with == "forewarn"
    assert scrubbed(a_recording(header=a_header("2019-08-01"))).header.api_version == (
        "2019-08-01"
    )


def test_an_id_is_replaced_consistently_and_keeps_its_format() -> None:
    ids = [GUID, "E7", GUID.lower(), "11111111-2222-4333-8444-555555555555"]
    showings = [a_recorded_document(a_raw_event(EventId=event_id)) for event_id in ids]
    recording = scrubbed(a_recording(*showings))
    assert [the_event(recording, number)["EventId"] for number in range(4)] == [
        "00000000-0000-4000-8000-000000000000",
        "E1",
        "00000000-0000-4000-8000-000000000000",
        "00000000-0000-4000-8000-000000000002",
    ]


def test_times_are_shifted_to_a_fixed_date_and_the_notice_stays() -> None:
    recording = scrubbed(a_recording(a_recorded_document(a_raw_event(), after=5.0)))
    assert recording.header.began == BEGAN
    assert recording.documents[0].after == 5.0
    assert the_event(recording)["NotBefore"] == "Wed, 01 Jan 2020 00:15:00 GMT"


def test_a_time_keeps_its_format_and_other_text_is_dropped() -> None:
    given_times = ["2026-01-31T12:15:00Z", "", "in March, at web-0", 17]
    showings = [
        a_recorded_document(a_raw_event(NotBefore=value)) for value in given_times
    ]
    recording = scrubbed(a_recording(*showings))
    kept = [the_event(recording, number)["NotBefore"] for number in range(4)]
    assert kept == ["2020-01-01T00:15:00Z", "", "", ""]


def test_scrubbing_twice_changes_nothing_more() -> None:
    once = scrubbed(a_recording(a_recorded_document(a_raw_event(Resources=["west_0"]))))
    assert scrubbed(once) == once


@pytest.mark.parametrize("text", ["Ticket 7 of Contoso", "web-0 restarts", None, []])
def test_a_custom_description_is_removed(text: object) -> None:
    recording = scrubbed(
        a_recording(a_recorded_document(a_raw_event(Description=text)))
    )
    assert the_event(recording)["Description"] == NO_DESCRIPTION


def test_a_standard_description_is_kept() -> None:
    recording = scrubbed(a_recording(a_recorded_document(a_raw_event())))
    assert (
        the_event(recording)["Description"] == "Host server is undergoing maintenance."
    )


def test_unknown_fields_are_removed() -> None:
    event = a_raw_event(Subscription="s-1", EventType="Reboot of web-0")
    document = {"DocumentIncarnation": "4", "Events": [event], "Owner": "Contoso"}
    headers = {"etag": '"web-0"', "forewarn-clock": "60", "content-type": "web_0!"}
    line = RecordedDocument(after=0.0, document=document, headers=headers)
    (kept,) = scrubbed(a_recording(line)).documents
    assert kept.headers == {"forewarn-clock": "60"}
    assert kept.document is not None
    assert kept.document["DocumentIncarnation"] == 4
    assert "Owner" not in kept.document
    assert not {"Subscription", "EventType"} & {*the_event(a_recording(kept))}


def test_only_the_kind_of_an_error_is_kept() -> None:
    lines = [
        RecordedFailure(after=0.0, what="503", message="http://contoso returned 503"),
        RecordedFailure(after=1.0, what="contoso"),
        RecordedFailure(after=2.0, what=None),
    ]
    assert [*scrubbed(a_recording(*lines)).lines] == [
        RecordedFailure(after=0.0, what="503"),
        RecordedFailure(after=1.0, what="lost"),
        RecordedFailure(after=2.0, what=None),
    ]


#: Names that are not part of any word of the protocol.
SECRETS = st.text("zqxZQX9", min_size=4, max_size=12).map(lambda text: f"zq{text}")


@settings(max_examples=60, deadline=None)
@given(
    names=st.lists(SECRETS, min_size=1, max_size=4),
    ids=st.lists(st.uuids(version=4).map(str) | SECRETS, min_size=1, max_size=4),
    text=SECRETS,
    minutes=st.integers(1, 1_000_000),
)
def test_no_original_value_remains_in_the_file(
    names: list[str], ids: list[str], text: str, minutes: int
) -> None:
    events = [
        a_raw_event(
            EventId=event_id,
            Resources=[*names, f"_{names[0]}_3"],
            Description=f"{names[0]} of {text}",
            **{text: text},
        )
        for event_id in ids
    ]
    began = NOON + timedelta(minutes=minutes)
    header = a_header(vm=names[0], endpoint=f"http://{text}", began=began)
    file = text_of(scrubbed(a_recording(a_recorded_document(*events), header=header)))
    for secret in (*names, *ids, text, "2026"):
        assert secret.lower() not in file.lower()
    assert parse_recording(file, "scrubbed").header.is_scrubbed


@settings(max_examples=40, deadline=None)
@given(after=st.integers(0, 10**7), notice=st.integers(0, 10**6))
def test_every_time_span_is_kept(after: int, notice: int) -> None:
    shown_at = NOON + timedelta(seconds=after)
    promised = rfc1123(shown_at + timedelta(seconds=notice))
    line = a_recorded_document(a_raw_event(NotBefore=promised), after=float(after))
    recording = scrubbed(a_recording(line))
    moved = parse_date(the_event(recording)["NotBefore"])
    assert moved is not None
    began = recording.header.began + timedelta(seconds=recording.documents[0].after)
    assert moved - began == timedelta(seconds=notice)
