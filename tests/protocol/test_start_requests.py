"""Start requests: which events a POST body approves, and what is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from forewarn.errors import Malformed
from forewarn.protocol.codec import decode_start_requests, encode_start_requests


def test_approvals_are_encoded_as_documented() -> None:
    assert encode_start_requests(["A", "B"]) == (
        b'{"StartRequests":[{"EventId":"A"},{"EventId":"B"}]}'
    )


def test_an_id_with_a_lone_surrogate_can_be_approved() -> None:
    body = encode_start_requests(["X\ud800"])
    assert decode_start_requests(body) == ("X\ud800",)


def test_several_events_are_approved_in_the_order_given() -> None:
    body = b'{"StartRequests":[{"EventId":"B"},{"EventId":"A"}]}'
    assert decode_start_requests(body) == ("B", "A")


def test_ids_are_uppercased_and_deduplicated() -> None:
    body = b'{"StartRequests":[{"EventId":"ab-1"},{"EventId":"Ab-1"}]}'
    assert decode_start_requests(body) == ("AB-1",)


@pytest.mark.parametrize(
    "body",
    [
        b'{"startrequests":[{"eventid":"A"}]}',
        b'{"STARTREQUESTS":[{"EVENTID":"A"}]}',
        b'{"startRequests":[{"eventId":"A"}]}',
        b' {"StartRequests" : [ {"EventId" : "A", "More": 1} ], "Other": null}\n',
    ],
)
def test_keys_ignore_case_and_unknown_keys_are_skipped(body: bytes) -> None:
    assert decode_start_requests(body) == ("A",)


@pytest.mark.parametrize("incarnation", ["5", '"5"', "null", "-1", "[]", '"stale"'])
def test_the_incarnation_sent_by_old_clients_is_ignored(incarnation: str) -> None:
    body = (
        f'{{"DocumentIncarnation":{incarnation},"StartRequests":[{{"EventId":"A"}}]}}'
    )
    assert decode_start_requests(body.encode()) == ("A",)


MALFORMED = {
    "not JSON": [
        *(b"", b" ", b"StartRequests", b"EventId=A", b"\xff\xff\xff"),
        b'{"StartRequests":[{"EventId":"A"}]',
        b'{"StartRequests":[{"EventId":"\xe9"}]}',
    ],
    "not an object": [b"[]", b'"A"', b"5", b"null", b"true"],
    "not a list of requests": [
        b"{}",
        b'{"StartRequest":[{"EventId":"A"}]}',
        *(
            b'{"StartRequests":%b}' % value
            for value in (b"null", b"[]", b"{}", b'{"EventId":"A"}', b'"A"', b"1")
        ),
    ],
    "one request without a text id": [
        b'{"StartRequests":[{"EventId":"A"},%b]}' % request
        for request in (
            *(b"{}", b"null", b'"A"', b"[]", b'{"EventId":null}', b'{"EventId":5}'),
            *(b'{"EventId":true}', b'{"EventId":["A"]}', b'{"EventId":{}}'),
            b'{"EventId":""}',
        )
    ],
    "deep nesting": [
        opening * 20_000 for opening in (b"[", b'{"a":', b'{"StartRequests":[')
    ],
    "a huge integer": [
        b'{"DocumentIncarnation":%b,"StartRequests":[{"EventId":"A"}]}'
        % (b"9" * 60_000)
    ],
}


@pytest.mark.parametrize("reason", MALFORMED)
def test_other_bodies_are_malformed(reason: str) -> None:
    for body in MALFORMED[reason]:
        with pytest.raises(Malformed):
            decode_start_requests(body)


@given(ids=st.lists(st.uuids().map(str), min_size=1))
def test_encoded_approvals_decode_to_the_same(ids: list[str]) -> None:
    read = decode_start_requests(encode_start_requests(ids))
    assert read == tuple(dict.fromkeys(event_id.upper() for event_id in ids))
