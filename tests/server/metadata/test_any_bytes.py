"""HTTP/1 parser on arbitrary bytes in arbitrary pieces, compared with h11 and llhttp.

`scripts/bench bytes` runs the same checks with any number of cases.
"""

from random import Random

import h11
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.server.support.dialogs import a_request
from tests.server.support.http_oracles import by_h11, by_llhttp
from tests.server.support.invalid_streams import (
    attack_stream,
    chunked,
    corrupted_stream,
    large,
    noise,
)
from tests.server.support.stream_differences import (
    H11_LEAVES_OTHERWISE,
    LLHTTP_LEAVES_OTHERWISE,
    ONLY_WE_REFUSE,
    Difference,
)
from tests.server.support.stream_driver import drive
from tests.server.support.stream_judge import (
    StreamResult,
    check_stream,
    judge_good,
    shortest,
)
from tests.server.support.valid_streams import good_requests

seeds = st.integers(min_value=0, max_value=2**64 - 1)


def check(stream: bytes, random: Random) -> StreamResult:
    """Judge `stream` and fail on any complaint."""
    judgement = check_stream(stream, random)
    assert judgement.complaints == (), shortest(stream, is_wrong)
    return judgement


def is_wrong(stream: bytes) -> bool:
    return bool(check_stream(stream, Random(0)).complaints)


# --- generated streams -------------------------------------------------------


@given(seeds)
@settings(max_examples=1000)
def test_valid_requests_are_parsed_as_intended(seed: int) -> None:
    random = Random(seed)
    assert judge_good(good_requests(random), random).complaints == ()


@given(seeds)
@settings(max_examples=1500)
def test_corrupted_requests_are_parsed_like_the_oracles(seed: int) -> None:
    random = Random(seed)
    check(corrupted_stream(random), random)


@given(seeds)
@settings(max_examples=1500)
def test_attacks_are_parsed_like_the_oracles(seed: int) -> None:
    random = Random(seed)
    check(attack_stream(random), random)


@given(seeds)
@settings(max_examples=500)
def test_chunks_are_parsed_like_the_oracles(seed: int) -> None:
    random = Random(seed)
    check(chunked(random), random)


@given(seeds)
@settings(max_examples=500)
def test_noise_is_parsed_like_the_oracles(seed: int) -> None:
    random = Random(seed)
    check(noise(random), random)


@given(st.binary(max_size=200), seeds)
@settings(max_examples=500)
def test_any_bytes_are_parsed_like_the_oracles(stream: bytes, seed: int) -> None:
    check(stream, Random(seed))


@given(seeds)
@settings(max_examples=50)
def test_streams_near_a_limit_are_parsed_alike_however_they_are_split(
    seed: int,
) -> None:
    random = Random(seed)
    check(large(random), random)


# --- known differences -------------------------------------------------------


@pytest.mark.parametrize("difference", ONLY_WE_REFUSE, ids=lambda each: each.what)
def test_streams_that_only_we_refuse_are_accepted_by_the_oracles(
    difference: Difference,
) -> None:
    judgement = check(difference.example, Random(0))
    assert (judgement.accepted, judgement.refusal) == (0, difference.status)
    assert len(by_llhttp(difference.example).messages) == 1
    assert len(by_h11(difference.example).messages) == 1


@pytest.mark.parametrize(
    "difference", LLHTTP_LEAVES_OTHERWISE, ids=lambda each: each.what
)
def test_llhttp_disagrees_on_keeping_some_connections(difference: Difference) -> None:
    (message,) = by_llhttp(difference.example).messages
    assert message.stays is last_of(difference.example)


@pytest.mark.parametrize("difference", H11_LEAVES_OTHERWISE, ids=lambda each: each.what)
def test_h11_disagrees_on_keeping_some_connections(difference: Difference) -> None:
    (message,) = by_h11(difference.example).messages
    assert message.stays is last_of(difference.example)


def last_of(stream: bytes) -> bool:
    """Return whether we close the connection after the only request of `stream`."""
    check(stream, Random(0))
    ((request, _),) = drive([stream]).requests
    return request.is_last


def test_h11_refuses_an_empty_line_before_a_request() -> None:
    reader = h11.Connection(h11.SERVER)
    reader.receive_data(b"\r\n" + a_request())
    with pytest.raises(h11.RemoteProtocolError):
        reader.next_event()
