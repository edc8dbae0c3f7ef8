"""Retries: when a request is repeated, and after which pause."""

import pytest

from forewarn.client.retries import delay, patience_for
from forewarn.errors import (
    ClientClosed,
    ForewarnError,
    InvalidInput,
    Lost,
    Misunderstood,
    Refused,
    Unreachable,
)


@pytest.mark.parametrize("status", [404, 410, 429, 500, 502, 503, 504])
def test_a_temporary_status_is_retried(status: int) -> None:
    assert delay(Refused("", status), 0) is not None


@pytest.mark.parametrize("status", [302, 400, 401, 403, 405, 409, 413, 422])
def test_a_client_error_is_not_retried(status: int) -> None:
    assert delay(Refused("", status, retry_after=1), 0) is None


@pytest.mark.parametrize("error", [Unreachable(), Lost(), Misunderstood()])
def test_a_missing_or_invalid_response_is_retried(error: ForewarnError) -> None:
    assert delay(error, 0) is not None


@pytest.mark.parametrize("error", [InvalidInput(), ClientClosed()])
def test_a_local_error_is_not_retried(error: ForewarnError) -> None:
    assert delay(error, 0) is None


def test_pauses_grow_up_to_a_limit() -> None:
    pauses = [delay(Unreachable(), attempt) for attempt in range(7)]
    assert pauses == [0.5, 1.0, 2.0, 5.0, 10.0, 10.0, 10.0]


def test_jitter_adds_at_most_a_quarter() -> None:
    assert delay(Unreachable(), 1, chance=1.0) == 1.25


@pytest.mark.parametrize(("wanted", "pause"), [(7, 7.0), (0, 1.0), (9e9, 60.0)])
def test_retry_after_is_respected_within_limits(wanted: float, pause: float) -> None:
    assert delay(Refused("", 429, retry_after=wanted), 0) == pause


def test_a_service_update_is_tolerated_for_seventy_seconds() -> None:
    assert patience_for(Refused("", 410), 30) == 70
    assert patience_for(Refused("", 404), 30) == 30
    assert patience_for(Refused("", 410), 0) == 0
