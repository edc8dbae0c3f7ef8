"""When a question is asked again."""

import pytest

from forewarn.client.retries import delay, patience_for
from forewarn.errors import (
    Closed,
    ForewarnError,
    InvalidInput,
    Lost,
    Misunderstood,
    Refused,
    Unreachable,
)


@pytest.mark.parametrize("status", [404, 410, 429, 500, 502, 503, 504])
def test_what_may_pass_is_asked_again(status: int) -> None:
    assert delay(Refused("", status), 0) is not None


@pytest.mark.parametrize("status", [302, 400, 401, 403, 405, 409, 413, 422])
def test_what_is_wrong_with_a_question_is_wrong_the_next_time(status: int) -> None:
    assert delay(Refused("", status, retry_after=1), 0) is None


@pytest.mark.parametrize("error", [Unreachable(), Lost(), Misunderstood()])
def test_no_answer_that_makes_sense_may_pass(error: ForewarnError) -> None:
    assert delay(error, 0) is not None


@pytest.mark.parametrize("error", [InvalidInput(), Closed()])
def test_what_is_wrong_here_stays_wrong(error: ForewarnError) -> None:
    assert delay(error, 0) is None


def test_pauses_grow_and_the_last_is_repeated() -> None:
    pauses = [delay(Unreachable(), attempt) for attempt in range(7)]
    assert pauses == [0.5, 1.0, 2.0, 5.0, 10.0, 10.0, 10.0]


def test_chance_makes_a_pause_longer_by_a_quarter_at_most() -> None:
    assert delay(Unreachable(), 1, chance=1.0) == 1.25


@pytest.mark.parametrize(("wanted", "pause"), [(7, 7.0), (0, 1.0), (9e9, 60.0)])
def test_a_service_may_ask_for_a_longer_pause_within_reason(
    wanted: float, pause: float
) -> None:
    assert delay(Refused("", 429, retry_after=wanted), 0) == pause


def test_an_update_of_the_service_is_put_up_with_for_seventy_seconds() -> None:
    assert patience_for(Refused("", 410), 30) == 70
    assert patience_for(Refused("", 404), 30) == 30
    assert patience_for(Refused("", 410), 0) == 0
