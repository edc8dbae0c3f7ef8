"""Injected faults in a rehearsal, as the client experiences them."""

from collections.abc import Iterator
from typing import Any

import pytest
from tests.patience import PATIENCE

from forewarn import Client
from forewarn.core.lifecycle.model import Phase
from forewarn.errors import InvalidInput, NotFound, Refused, Unreachable
from forewarn.testing.rehearsal.rehearsal import Rehearsal

HASTY = 0.0  # seconds of patience with temporary failures


@pytest.fixture(scope="module")
def shared() -> Iterator[Rehearsal]:
    with Rehearsal(seed=7) as created:
        yield created


@pytest.fixture
def rehearsal(shared: Rehearsal) -> Iterator[Rehearsal]:
    """Provide a rehearsal whose faults are cleared after each test."""
    yield shared
    shared.clear_faults()


@pytest.fixture
def client(rehearsal: Rehearsal) -> Iterator[Client]:
    with Client(rehearsal.endpoint, patience=HASTY, timeout=PATIENCE) as created:
        yield created


# --- each kind ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "error", "message"),
    [
        ("429", Refused, "429"),
        ("410", Refused, "being updated"),
        ("500", Refused, "500"),
        ("503", Refused, "503"),
        ("reset", Unreachable, "lost the connection to"),
        ("truncated", Unreachable, "the response is incomplete"),
        ("refused", Unreachable, "refused the connection"),
    ],
)
def test_client_fails_until_the_fault_is_cleared(
    rehearsal: Rehearsal,
    client: Client,
    kind: str,
    error: type[Exception],
    message: str,
) -> None:
    rehearsal.fault(kind)
    with pytest.raises(error, match=message):
        client.document()
    rehearsal.clear_faults()
    client.document()
    *_, faulted, good = [
        (request.status, request.fault) for request in rehearsal.requests
    ]
    assert good == (200, None)
    if kind != "refused":  # the service does not see such requests
        assert faulted == (int(kind) if kind.isdigit() else 0, kind)


def test_client_gets_the_retry_after_of_the_fault(
    rehearsal: Rehearsal, client: Client
) -> None:
    rehearsal.fault("429", count=1, retry_after=7)
    with pytest.raises(Refused) as refused:
        client.document()
    assert refused.value.retry_after == 7


def test_empty_body_has_no_events(rehearsal: Rehearsal, client: Client) -> None:
    event = rehearsal.reboot("web-0")
    rehearsal.fault("empty", count=1)
    assert client.document().events == ()
    assert [shown.id for shown in client.document().events] == [event.id]
    event.cancel()


def test_slow_response_is_still_a_response(
    rehearsal: Rehearsal, client: Client
) -> None:
    rehearsal.fault("slow", delay="100ms", count=1)
    client.document()
    request = rehearsal.requests[-1]
    assert (request.status, request.fault) == (200, "slow")
    assert request.at - request.since >= 0.09


def test_refused_connections_end_after_their_duration(rehearsal: Rehearsal) -> None:
    rehearsal.fault("refused", duration="200ms")
    with Client(rehearsal.endpoint) as patient:
        patient.document()
    assert rehearsal.requests[-1].fault is None


# --- approvals ---------------------------------------------------------------


def test_patient_client_repeats_an_approval_with_an_unknown_result(
    rehearsal: Rehearsal,
) -> None:
    event = rehearsal.reboot("web-0")
    rehearsal.fault("reset", on="approve", count=1)
    with Client(rehearsal.endpoint) as patient:
        patient.approve(event.id)
    faults = [
        request.fault for request in rehearsal.requests if event.id in request.events
    ]
    assert faults == ["reset", None]
    assert event.maintenance.phase is Phase.STARTED
    rehearsal.advance_to_end(event)


# --- other properties --------------------------------------------------------


def test_the_same_seed_draws_the_same_faults() -> None:
    def drawn() -> list[str | None]:
        with (
            Rehearsal(seed=3) as played,
            Client(played.endpoint, patience=HASTY) as asking,
        ):
            played.fault("empty", probability=0.5)
            for _ in range(20):
                asking.document()
            return [request.fault for request in played.requests]

    once = drawn()
    assert once == drawn()
    assert {None, "empty"} == set(once)


def test_single_fault_can_be_cleared(rehearsal: Rehearsal, client: Client) -> None:
    rehearsal.fault("500", vms=["db-0"])
    id_ = rehearsal.fault("503", vms="web-0")
    rehearsal.clear_faults(id_)
    client.document()
    with pytest.raises(NotFound):
        rehearsal.clear_faults(id_)


def test_invalid_fault_is_refused_with_a_message(rehearsal: Rehearsal) -> None:
    with pytest.raises(InvalidInput, match="kind: expected one of"):
        rehearsal.fault("418")
    with pytest.raises(NotFound, match="web-9"):
        rehearsal.fault("503", vms=["web-9"])


def test_a_status_may_be_a_number(rehearsal: Rehearsal, client: Client) -> None:
    rehearsal.fault(503, count=1)  # type: ignore[arg-type]  # a common mistake, accepted
    with pytest.raises(Refused):
        client.document()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"cuont": 3}, "unknown option 'cuont'; did you mean \"count\""),
        ({"lasts": "3s"}, "unknown option 'lasts'; it is now called \"duration\""),
        ({"for_seconds": 3}, "'for_seconds'; it is now called \"duration\""),
        ({"count": 1.5}, "count must be a whole number, not 1.5"),
        ({"count": "3"}, "count must be a whole number, not '3'"),
        ({"probability": "half"}, "probability must be a number, not 'half'"),
        ({"retry_after": 0.5}, "retry_after must be a whole number, not 0.5"),
    ],
)
def test_invalid_option_is_refused_with_a_message(
    rehearsal: Rehearsal, options: dict[str, Any], message: str
) -> None:
    with pytest.raises(InvalidInput, match=message):
        rehearsal.fault("503", **options)
