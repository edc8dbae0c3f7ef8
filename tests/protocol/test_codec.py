"""Codec: exact encoding and tolerant decoding of documents and dates."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forewarn.errors import Malformed
from forewarn.protocol.codec import decode, encode, iso8601, parse_date, rfc1123
from forewarn.protocol.types import (
    Document,
    EventSource,
    EventStatus,
    EventType,
    ScheduledEvent,
)
from forewarn.protocol.versions import NEWEST, VERSIONS, ApiVersion

MOMENT = datetime(2016, 9, 19, 18, 29, 47, tzinfo=UTC)


def an_event(
    *,
    description: str = "",
    resources: tuple[str, ...] = ("vm0",),
    not_before: datetime | None = MOMENT,
    duration: int | None = None,
) -> ScheduledEvent:
    return ScheduledEvent(
        id="E0",
        type=EventType.FREEZE,
        status=EventStatus.SCHEDULED,
        resources=resources,
        not_before=not_before,
        description=description,
        source=EventSource.PLATFORM,
        duration=duration,
    )


def written(event: ScheduledEvent) -> bytes:
    return encode(Document(incarnation=1, events=(event,)), NEWEST)


def read_event(**fields: object) -> ScheduledEvent:
    """Decode a document with one event that has an id and these fields."""
    body = {"DocumentIncarnation": 1, "Events": [{"EventId": "E0", **fields}]}
    (event,) = decode(json.dumps(body).encode()).events
    return event


# --- encoding ----------------------------------------------------------------


def test_text_is_encoded_as_unescaped_utf_8() -> None:
    body = written(an_event(description="Wartung für Zürich 🛠"))
    assert "Wartung für Zürich 🛠".encode() in body
    assert b"\\u" not in body


def test_the_body_is_one_line_without_whitespace() -> None:
    body = written(an_event(description="a\nb"))
    assert b"\n" not in body
    assert b'": ' not in body
    assert b", " not in body.replace(b"Mon, 19", b"")


@pytest.mark.parametrize(("duration", "text"), [(None, b"-1"), (0, b"0")])
def test_an_unknown_duration_is_minus_one(duration: int | None, text: bytes) -> None:
    body = written(an_event(duration=duration))
    assert body.endswith(b'"DurationInSeconds":%b}]}' % text)


# --- decoding ----------------------------------------------------------------


@pytest.mark.parametrize("body", [b"", b" ", b"\r\n"])
def test_an_empty_body_means_no_events(body: bytes) -> None:
    assert decode(body) == Document(incarnation=0)


@pytest.mark.parametrize(
    ("text", "incarnation"), [("5", 5), ('"5"', 5), ('"-1"', -1), ("0", 0)]
)
def test_an_incarnation_may_be_a_number_or_text(text: str, incarnation: int) -> None:
    body = f'{{"DocumentIncarnation":{text},"Events":[]}}'
    assert decode(body.encode()).incarnation == incarnation


@pytest.mark.parametrize("incarnation", ["", '"DocumentIncarnation":null,'])
def test_a_missing_incarnation_is_zero(incarnation: str) -> None:
    assert decode(f'{{{incarnation}"Events":[]}}'.encode()) == Document(incarnation=0)


@pytest.mark.parametrize(
    "not_before",
    [
        "Mon, 19 Sep 2016 18:29:47 GMT",
        "2016-09-19T18:29:47Z",
        "2016-09-19T18:29:47+00:00",
        "2016-09-19T18:29:47",
        "2016-09-19T20:29:47+02:00",
        "Mon, 19 Sep 2016 20:29:47 +0200",
        "19 Sep 16 18:29:47 GMT",
        "Monday, 19-Sep-16 18:29:47 GMT",
        " Mon, 19 Sep 2016 18:29:47 GMT ",
    ],
)
def test_not_before_is_read_in_every_observed_format(not_before: str) -> None:
    assert read_event(NotBefore=not_before).not_before == MOMENT


@pytest.mark.parametrize("not_before", ["", "  ", None, "soon", 7, [], {}])
def test_a_blank_or_invalid_not_before_is_none(not_before: object) -> None:
    assert read_event(NotBefore=not_before).not_before is None


def test_an_event_needs_only_its_id() -> None:
    assert read_event() == ScheduledEvent(id="E0", type="", status="", resources=())


@pytest.mark.parametrize("member", ["Resources", "Description", "EventSource"])
def test_null_is_read_as_absent(member: str) -> None:
    assert read_event(**{member: None}) == read_event()


def test_unknown_values_are_kept_as_text() -> None:
    event = read_event(EventType="Hop", EventStatus="Completed", EventSource="Moon")
    assert (event.type, event.status, event.source) == ("Hop", "Completed", "Moon")


def test_known_values_become_enum_members() -> None:
    event = read_event(EventType="Redeploy", EventStatus="Started", EventSource="User")
    assert event.type is EventType.REDEPLOY
    assert event.status is EventStatus.STARTED
    assert event.source is EventSource.USER


def test_unknown_fields_are_kept_in_raw() -> None:
    assert read_event(Color="red").raw == {"EventId": "E0", "Color": "red"}


@pytest.mark.parametrize(("seconds", "duration"), [(0, 0), (9, 9), (-1, None)])
def test_a_duration_of_minus_one_is_unknown(seconds: int, duration: int | None) -> None:
    assert read_event(DurationInSeconds=seconds).duration == duration


@pytest.mark.parametrize(
    "body",
    [
        b"<html>",
        b'{"Events":[',
        b"\xff\xfe\xfd",
        b"[]",
        b"3",
        b"null",
        b"{}",
        b'{"error":"backend timeout"}',
        b'{"DocumentIncarnation":4}',
        b'{"DocumentIncarnation":null,"Events":null}',
        b'{"Events":0}',
        b'{"Events":""}',
        b'{"Events":{}}',
        b'{"Events":"none"}',
        b'{"Events":{"EventId":"E0"}}',
        b'{"Events":[1]}',
        b'{"Events":[{}]}',
        b'{"Events":[{"EventId":7}]}',
    ],
)
def test_an_invalid_document_is_malformed(body: bytes) -> None:
    with pytest.raises(Malformed):
        decode(body)


# --- round trips -------------------------------------------------------------

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
moments = st.datetimes(
    datetime(1970, 1, 1),  # noqa: DTZ001  # the zone is the strategy's
    datetime(9999, 12, 30),  # noqa: DTZ001
    timezones=st.just(UTC),
).map(lambda moment: moment.replace(microsecond=0))

events = st.builds(
    ScheduledEvent,
    id=words,
    type=st.sampled_from(EventType),
    status=st.sampled_from(EventStatus),
    resources=st.lists(words, max_size=4).map(tuple),
    not_before=st.none() | moments,
    description=words,
    source=st.sampled_from(EventSource),
    duration=st.none() | st.integers(0, 10**6),
    paas=st.just(frozenset[str]()),
    raw=st.just({}),
)
documents = st.builds(
    Document,
    incarnation=st.integers(0, 2**63),
    events=st.lists(events, max_size=4).map(tuple),
)


def as_shown(document: Document, version: ApiVersion) -> Document:
    """Return what a client of `version` sees of `document`, derived by hand."""
    late = {EventType.PREEMPT: "2017-11-01", EventType.TERMINATE: "2019-01-01"}
    return replace(
        document,
        events=tuple(
            replace(
                event,
                resources=tuple(
                    f"_{name}" if version.name == "2017-03-01" else name
                    for name in event.resources
                ),
                description=event.description if version.name >= "2019-04-01" else "",
                source=event.source if version.name >= "2019-08-01" else None,
                duration=event.duration if version.name >= "2020-07-01" else None,
            )
            for event in document.events
            if version.name >= late.get(EventType(event.type), "")
        ),
    )


@given(document=documents, version=st.sampled_from(list(VERSIONS.values())))
def test_an_encoded_document_decodes_to_the_same(
    document: Document, version: ApiVersion
) -> None:
    assert decode(encode(document, version)) == as_shown(document, version)


@given(body=st.binary() | st.text().map(str.encode))
def test_any_bytes_decode_to_a_document_or_are_malformed(
    body: bytes,
) -> None:
    try:
        document = decode(body)
    except Malformed:
        return
    assert isinstance(document, Document)


# --- dates -------------------------------------------------------------------


def test_dates_are_in_english_with_a_two_digit_day() -> None:
    assert rfc1123(datetime(2024, 3, 6, 9, 2, 9, tzinfo=UTC)) == (
        "Wed, 06 Mar 2024 09:02:09 GMT"
    )


def test_dates_are_written_in_utc_and_whole_seconds() -> None:
    moment = datetime(
        2024, 1, 1, 0, 30, 0, 999_999, tzinfo=timezone(timedelta(hours=1))
    )
    assert rfc1123(moment) == "Sun, 31 Dec 2023 23:30:00 GMT"
    assert iso8601(moment) == "2023-12-31T23:30:00Z"


@given(moments)
def test_dates_are_read_back(moment: datetime) -> None:
    assert parse_date(rfc1123(moment)) == moment
    assert parse_date(iso8601(moment)) == moment


@given(st.text(alphabet="0123456789,:-+. TZGMTJanMonSep") | st.text())
def test_parsing_arbitrary_text_as_a_date_never_fails(text: str) -> None:
    parsed = parse_date(text)
    assert parsed is None or parsed.tzinfo is not None


@pytest.mark.parametrize(
    "text", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"]
)
def test_a_date_outside_the_range_of_utc_is_none(text: str) -> None:
    assert parse_date(text) is None
