"""Recording format: round trips, and the line number of every error."""

import json
from datetime import timedelta, timezone

import pytest
from tests.recordings.recordings import (
    NOON,
    a_failure,
    a_header,
    a_raw_event,
    a_recorded_document,
    a_recording,
    text_of,
)

from forewarn.errors import FaultyFile
from forewarn.recordings.format import (
    RecordedDocument,
    RecordingEnd,
    RecordingResumed,
    parse_recording,
    write_line,
)

WHOLE = a_recording(
    a_recorded_document(after=0.25, incarnation=0),
    a_failure(after=3.0),
    a_failure(None, after=4.5),
    a_recorded_document(a_raw_event(), after=60.0),
    RecordedDocument(after=61.0, document=None, headers={"server": "IMDS"}),
    RecordingEnd(after=62.0),
    RecordingResumed(after=90.0),
    header=a_header(vm="web-0", endpoint="http://169.254.169.254"),
)


def test_a_recording_is_read_back_unchanged() -> None:
    recording = parse_recording(text_of(WHOLE), "recording.jsonl")
    assert recording.header == WHOLE.header
    assert [*recording.lines] == [*WHOLE.lines]


def test_every_line_is_json_with_relative_and_absolute_time() -> None:
    header, first, *_ = map(json.loads, text_of(WHOLE).splitlines())
    assert header["recording"] == 1
    assert header["began"] == "2026-01-31T12:00:00Z"
    assert first["after_seconds"] == 0.25
    assert first["date"] == "2026-01-31T12:00:00.250Z"
    assert first["document"] == {"DocumentIncarnation": 0, "Events": []}


def test_an_object_without_events_in_an_older_recording_is_read_as_empty() -> None:
    older = text_of(WHOLE).replace('"Events":[]', '"Events":null')
    assert older != text_of(WHOLE)
    (first, *_) = parse_recording(older, "recording.jsonl").documents
    assert first.document == {"DocumentIncarnation": 0, "Events": []}


def test_the_keys_of_older_recordings_are_read() -> None:
    older = text_of(WHOLE)
    for name, former in (("recording", "tape"), ("failure", "trouble")):
        assert f'"{name}":' in older
        older = older.replace(f'"{name}":', f'"{former}":')
    older = older.replace('"message":', '"says":')
    assert parse_recording(older, "recording.jsonl") == parse_recording(
        text_of(WHOLE), "recording.jsonl"
    )


def test_unknown_header_values_are_omitted() -> None:
    header = json.loads(text_of(a_recording()).splitlines()[0])
    assert not {"endpoint", "vm"} & header.keys()


def test_times_are_written_in_utc_with_milliseconds() -> None:
    there = NOON.astimezone(timezone(timedelta(hours=2)))
    line = json.loads(write_line(RecordingEnd(after=1.23456), there))
    assert line["after_seconds"] == 1.235
    assert line["date"] == "2026-01-31T12:00:01.234Z"


def test_the_length_is_the_time_of_the_last_line() -> None:
    assert (WHOLE.length, a_recording().length) == (90.0, 0.0)


@pytest.mark.parametrize("missing", [2, 10, 40])
def test_a_truncated_last_line_is_skipped(missing: int) -> None:
    text = text_of(
        a_recording(
            a_recorded_document(), a_recorded_document(a_raw_event(), after=1.0)
        )
    )
    recording = parse_recording(text[:-missing], "recording.jsonl")
    assert recording.is_cut
    assert recording.lines == [a_recorded_document()]


def test_the_last_line_may_lack_its_newline() -> None:
    recording = parse_recording(text_of(a_recording()).rstrip("\n"), "recording.jsonl")
    assert not recording.is_cut
    assert recording.lines == [a_recorded_document()]


def test_lone_surrogates_and_blank_lines_are_accepted() -> None:
    odd = a_recording(a_recorded_document(a_raw_event(Description="\ud800 half")))
    assert parse_recording(text_of(odd) + "\n\n", "recording.jsonl").lines == [
        *odd.lines
    ]


def test_unknown_lines_and_keys_are_skipped() -> None:
    text = text_of(a_recording())
    later = '{"after_seconds":5,"weather":"fine"}\n{"after_seconds":6,"end":1,"x":2}\n'
    assert parse_recording(text + later, "t").lines == [
        a_recorded_document(),
        RecordingEnd(after=6.0),
    ]


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("nonsense", "not valid JSON"),
        ("[" * 100_000, "not valid JSON"),
        ("[]", "not a JSON object"),
        ('{"after_seconds":-1,"end":true}', "after_seconds must be a number"),
        ('{"after_seconds":NaN,"end":true}', "after_seconds must be a number"),
        ('{"after_seconds":true,"end":true}', "after_seconds must be a number"),
        ('{"after_seconds":1e99,"end":true}', "after_seconds must be a number"),
        (
            '{"after_seconds":1,"end":true}',
            "after_seconds is lower than on the previous line",
        ),
        ('{"after_seconds":9,"document":[]}', "must be an object or null"),
        ('{"after_seconds":9,"document":{"Events":[{}]}}', "has no EventId"),
        ('{"after_seconds":9,"failure":503}', "failure must be a string"),
    ],
)
def test_an_invalid_line_is_reported_with_its_number(line: str, sentence: str) -> None:
    text = text_of(a_recording(a_recorded_document(after=2.0)))
    end = write_line(RecordingEnd(after=100.0), NOON)
    with pytest.raises(FaultyFile, match=f"^recording.jsonl:3: .*{sentence}"):
        parse_recording(f"{text}{line}\n{end}", "recording.jsonl")


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "not valid JSON"),
        ('{"Events":[]}\n', "the first line is not a header in recording format 1"),
        ('{"recording":2}\n', "a newer version of forewarn created it"),
        ('{"recording":1}\n', "`began` must be a time"),
        ('{"recording":1,"began":"2026-01-31T12:00:00"}\n', "`began` must be a time"),
        ('{"recording":1,"began":"0001-01-01T00:00:00Z"}\n', "`began` must be a time"),
    ],
)
def test_an_invalid_recording_is_refused(text: str, sentence: str) -> None:
    with pytest.raises(FaultyFile, match=f"^x:1: .*{sentence}"):
        parse_recording(text, "x")
