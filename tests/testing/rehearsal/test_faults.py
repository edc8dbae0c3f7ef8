"""Injected faults in a rehearsal, as the client experiences them."""

from collections.abc import Iterator
from threading import Thread
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


def last(rehearsal: Rehearsal) -> tuple[int, str | None]:
    request = rehearsal.requests[-1]
    return request.status, request.fault


# --- each kind ---------------------------------------------------------------


@pytest.mark.parametrize("status", [429, 500, 503])
def test_client_is_refused(rehearsal: Rehearsal, client: Client, status: int) -> None:
    rehearsal.fault(str(status), count=1)
    with pytest.raises(Refused) as refused:
        client.document()
    assert refused.value.status == status
    assert last(rehearsal) == (status, str(status))
    client.document()
    assert last(rehearsal) == (200, None)


def test_client_gets_the_retry_after_of_the_fault(
    rehearsal: Rehearsal, client: Client
) -> None:
    rehearsal.fault("429", count=1, retry_after=7)
    with pytest.raises(Refused) as refused:
        client.document()
    assert refused.value.retry_after == 7


def test_gone_fault_means_the_service_is_being_updated(
    rehearsal: Rehearsal, client: Client
) -> None:
    rehearsal.fault("410")
    with pytest.raises(Refused, match="being updated") as refused:
        client.document()
    assert refused.value.status == 410


def test_reset_connection_is_unreachable(rehearsal: Rehearsal, client: Client) -> None:
    rehearsal.fault("reset")
    with pytest.raises(Unreachable, match="broke before it had answered"):
        client.document()
    assert last(rehearsal) == (0, "reset")


def test_truncated_document_is_unreachable(
    rehearsal: Rehearsal, client: Client
) -> None:
    rehearsal.fault("truncated")
    with pytest.raises(Unreachable):
        client.document()
    assert last(rehearsal) == (0, "truncated")


def test_empty_body_has_no_events(rehearsal: Rehearsal, client: Client) -> None:
    event = rehearsal.reboot("web-0")
    rehearsal.fault("empty", count=1)
    assert client.document().events == ()
    assert last(rehearsal) == (200, "empty")
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


def test_response_slower_than_the_timeout_is_unreachable(rehearsal: Rehearsal) -> None:
    rehearsal.fault("slow", delay="1m")
    client = Client(rehearsal.endpoint, patience=HASTY, timeout=0.1, first_timeout=0.1)
    with client, pytest.raises(Unreachable, match=r"0\.1"):
        client.document()


def test_first_calls_are_slow_once(rehearsal: Rehearsal, client: Client) -> None:
    rehearsal.fault("slow-first-call", delay="50ms")
    client.document()
    client.document()
    faults = [request.fault for request in rehearsal.requests[-2:]]
    assert faults == ["slow-first-call", None]


def test_stale_document_is_the_previous_one(
    rehearsal: Rehearsal, client: Client
) -> None:
    before = client.document()
    rehearsal.fault("stale")
    event = rehearsal.reboot("web-0")
    assert client.document() == before
    rehearsal.clear_faults()
    assert event.id in [shown.id for shown in client.document().events]
    event.cancel()


def test_refused_connection_is_unreachable(
    rehearsal: Rehearsal, client: Client
) -> None:
    client.document()
    rehearsal.fault("refused")
    with pytest.raises(Unreachable, match="nothing answers"):
        client.document()
    rehearsal.clear_faults()
    client.document()


def test_refused_connections_end_after_their_duration(rehearsal: Rehearsal) -> None:
    rehearsal.fault("refused", lasts="200ms")
    with Client(rehearsal.endpoint) as patient:
        patient.document()
    assert last(rehearsal) == (200, None)


# --- approvals ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "phase"),
    [
        ("429", Phase.SCHEDULED),
        ("500", Phase.SCHEDULED),
        ("503", Phase.SCHEDULED),
        ("reset", Phase.STARTED),
        ("truncated", Phase.STARTED),
    ],
)
def test_approval_under_a_fault_is_carried_out_or_not(kind: str, phase: Phase) -> None:
    with Rehearsal() as rehearsal, Client(rehearsal.endpoint, patience=HASTY) as client:
        event = rehearsal.reboot("web-0")
        rehearsal.fault(kind, on="approve")
        with pytest.raises((Refused, Unreachable)):
            client.approve(event.id)
        assert event.maintenance.phase is phase


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


def test_rehearsal_ends_while_responses_are_delayed() -> None:
    with Rehearsal() as played:
        played.fault("slow", delay="1m")
        incarnations: list[int] = []

        def ask() -> None:
            with Client(played.endpoint, patience=HASTY) as client:
                incarnations.append(client.document().incarnation)

        asking = Thread(target=ask)
        asking.start()
        assert played.observer.wait(
            lambda: bool(played.observer.arrivals_of("web-0")), PATIENCE
        )
    asking.join(PATIENCE)
    assert incarnations == [0]


def test_single_fault_can_be_cleared(rehearsal: Rehearsal, client: Client) -> None:
    rehearsal.fault("500", vms=["db-0"])
    id_ = rehearsal.fault("503", vms="web-0")
    rehearsal.clear_faults(id_)
    client.document()
    with pytest.raises(NotFound):
        rehearsal.clear_faults(id_)


def test_invalid_fault_is_refused_with_a_message(rehearsal: Rehearsal) -> None:
    with pytest.raises(InvalidInput, match="kind is one of"):
        rehearsal.fault("418")
    with pytest.raises(NotFound, match="web-9"):
        rehearsal.fault("503", vms=["web-9"])


def test_a_status_may_be_a_number(rehearsal: Rehearsal, client: Client) -> None:
    rehearsal.fault(503, count=1)  # type: ignore[arg-type]  # a common mistake, accepted
    with pytest.raises(Refused):
        client.document()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"cuont": 3}, "there is no cuont; there are on, vms, count, "),
        ({"count": 1.5}, "count is a whole number; not 1.5"),
        ({"count": "3"}, "count is a whole number; not '3'"),
        ({"probability": "half"}, "probability is a number; not 'half'"),
        ({"retry_after": 0.5}, "retry_after is a whole number; not 0.5"),
    ],
)
def test_invalid_option_is_refused_with_a_message(
    rehearsal: Rehearsal, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidInput, match=said):
        rehearsal.fault("503", **options)
