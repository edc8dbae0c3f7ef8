"""Recorder: which responses and errors become lines of a recording."""

import json
from datetime import timedelta

import pytest
from tests.client.support.builders import a_response
from tests.recordings.recordings import (
    NOON,
    a_failure,
    a_header,
    a_raw_document,
    a_raw_event,
    a_recorded_document,
    a_recording,
)

from forewarn.client.responses import Reading, reading_of
from forewarn.errors import ForewarnError, Lost, Misunderstood, Refused, Unreachable
from forewarn.recordings.format import (
    RecordedDocument,
    RecordedFailure,
    RecordingEnd,
    RecordingResumed,
)
from forewarn.recordings.recorder import Recorder, failure_name


def a_reading(*events: dict[str, object], incarnation: int = 1) -> Reading:
    document = a_raw_document(*events, incarnation=incarnation)
    return reading_of(a_response(json.dumps(document).encode()), "http://x")


def a_blank() -> Reading:
    return reading_of(a_response(b""), "http://x")


def test_a_document_is_recorded_when_it_differs_from_the_last() -> None:
    recorder = Recorder(a_header())
    later = NOON + timedelta(seconds=9.5)
    assert recorder.record(a_reading(), NOON) == [a_recorded_document()]
    assert recorder.record(a_reading(), later) == []
    shown = recorder.record(a_reading(a_raw_event(), incarnation=2), later)
    assert shown == [a_recorded_document(a_raw_event(), after=9.5, incarnation=2)]
    back = recorder.record(a_reading(), later)
    assert back == [
        a_recorded_document(after=9.5)
    ]  # the first document again, after another
    assert recorder.documents == 3


def test_a_new_incarnation_alone_is_recorded() -> None:
    recorder = Recorder(a_header())
    recorder.record(a_reading(incarnation=1), NOON)
    assert recorder.record(a_reading(incarnation=0), NOON) == [
        a_recorded_document(incarnation=0)
    ]


def test_a_document_is_recorded_unchanged_and_with_few_headers() -> None:
    recorder = Recorder(a_header())
    body = b'{"Events":[],"DocumentIncarnation":"7","Later":{"x":1.5}}'
    response = a_response(body, server="IMDS", set_cookie="x")
    (line,) = recorder.record(reading_of(response, "http://x"), NOON)
    assert line == RecordedDocument(
        after=0.0, document=json.loads(body), headers={"server": "IMDS"}
    )


def test_an_empty_body_is_recorded_once() -> None:
    recorder = Recorder(a_header())
    recorder.record(a_reading(), NOON)
    assert recorder.record(a_blank(), NOON) == [
        RecordedDocument(after=0.0, document=None)
    ]
    assert recorder.record(a_blank(), NOON) == []


def test_an_unchanged_response_is_not_recorded() -> None:
    recorder = Recorder(a_header())
    recorder.record(a_reading(), NOON)
    same = reading_of(a_response(b"", 304), "http://x")
    assert recorder.record(same, NOON) == []


def test_an_error_is_recorded_when_it_begins_changes_and_ends() -> None:
    recorder = Recorder(a_header())
    recorder.record(a_reading(), NOON)
    busy, gone = Refused("busy", 503), Unreachable("gone")
    assert recorder.record_failure(busy, NOON) == [
        RecordedFailure(after=0, what="503", message="busy")
    ]
    assert recorder.record_failure(busy, NOON) == ()
    (other,) = recorder.record_failure(gone, NOON)
    assert other == RecordedFailure(after=0, what="unreachable", message="gone")
    assert recorder.record(a_reading(), NOON) == [a_failure(None)]
    assert recorder.record(a_reading(), NOON) == []
    assert recorder.failures == 2


@pytest.mark.parametrize(
    ("error", "word"),
    [
        (Refused("", 410), "410"),
        (Lost(""), "lost"),
        (Unreachable(""), "unreachable"),
        (Misunderstood(""), "misunderstood"),
    ],
)
def test_every_error_has_a_name(error: ForewarnError, word: str) -> None:
    assert failure_name(error) == word


def test_a_clock_set_back_does_not_set_the_recording_back() -> None:
    recorder = Recorder(a_header())
    recorder.record(a_reading(), NOON + timedelta(seconds=50))
    assert recorder.end(NOON) == RecordingEnd(after=50.0)


def test_a_recording_is_resumed_where_it_ended() -> None:
    recording = a_recording(
        a_recorded_document(a_raw_event()), a_failure("503", after=60.0)
    )
    recorder = Recorder(recording.header)
    later = NOON + timedelta(hours=1)
    assert recorder.resume(recording, later) == [RecordingResumed(after=3600.0)]
    lines = recorder.record(a_reading(a_raw_event()), later)
    assert lines == [a_failure(None, after=3600.0)]  # only the error is over
