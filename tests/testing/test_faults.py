"""Faults in a rehearsal, as the client meets them."""

from collections.abc import Iterator
from threading import Thread
from typing import Any

import pytest

from forewarn import Client
from forewarn.core.maintenance import Phase
from forewarn.errors import InvalidInput, NotFound, Refused, Unreachable
from forewarn.testing.rehearsal import Rehearsal

HASTY = 0.0  # seconds of patience with troubles that pass


@pytest.fixture(scope="module")
def shared() -> Iterator[Rehearsal]:
    with Rehearsal(seed=7) as made:
        yield made


@pytest.fixture
def rehearsal(shared: Rehearsal) -> Iterator[Rehearsal]:
    """A rehearsal in which everything behaves again afterwards."""
    yield shared
    shared.clear_faults()


@pytest.fixture
def client(rehearsal: Rehearsal) -> Iterator[Client]:
    with Client(rehearsal.endpoint, patience=HASTY, timeout=5) as made:
        yield made


def last(rehearsal: Rehearsal) -> tuple[int, str | None]:
    asked = rehearsal.requests[-1]
    return asked.status, asked.fault


# --- each kind ---------------------------------------------------------------


@pytest.mark.parametrize("status", [429, 500, 503])
def test_a_client_is_refused(rehearsal: Rehearsal, client: Client, status: int) -> None:
    rehearsal.fault(str(status), count=1)
    with pytest.raises(Refused) as refused:
        client.document()
    assert refused.value.status == status
    assert last(rehearsal) == (status, str(status))
    client.document()
    assert last(rehearsal) == (200, None)


def test_a_client_waits_as_long_as_it_is_asked_to(
    rehearsal: Rehearsal, client: Client
) -> None:
    rehearsal.fault("429", count=1, retry_after=7)
    with pytest.raises(Refused) as refused:
        client.document()
    assert refused.value.retry_after == 7


def test_a_service_that_is_being_updated_says_so(
    rehearsal: Rehearsal, client: Client
) -> None:
    rehearsal.fault("410")
    with pytest.raises(Refused, match="being updated") as refused:
        client.document()
    assert refused.value.status == 410


def test_a_reset_is_no_answer(rehearsal: Rehearsal, client: Client) -> None:
    rehearsal.fault("reset")
    with pytest.raises(Unreachable, match="broke before it had answered"):
        client.document()
    assert last(rehearsal) == (0, "reset")


def test_half_a_document_is_none(rehearsal: Rehearsal, client: Client) -> None:
    rehearsal.fault("truncated")
    with pytest.raises(Unreachable):
        client.document()
    assert last(rehearsal) == (0, "truncated")


def test_an_empty_answer_names_no_events(rehearsal: Rehearsal, client: Client) -> None:
    event = rehearsal.reboot("web-0")
    rehearsal.fault("empty", count=1)
    assert client.document().events == ()
    assert last(rehearsal) == (200, "empty")
    assert [each.id for each in client.document().events] == [event.id]
    event.cancel()


def test_a_slow_answer_is_an_answer(rehearsal: Rehearsal, client: Client) -> None:
    rehearsal.fault("slow", delay="100ms", count=1)
    client.document()
    asked = rehearsal.requests[-1]
    assert (asked.status, asked.fault) == (200, "slow")
    assert asked.at - asked.since >= 0.09


def test_an_answer_may_be_slower_than_a_client_waits(rehearsal: Rehearsal) -> None:
    rehearsal.fault("slow", delay="1m")
    client = Client(rehearsal.endpoint, patience=HASTY, timeout=0.1, first_timeout=0.1)
    with client, pytest.raises(Unreachable, match=r"0\.1"):
        client.document()


def test_first_calls_are_slow_once(rehearsal: Rehearsal, client: Client) -> None:
    rehearsal.fault("slow-first-call", delay="50ms")
    client.document()
    client.document()
    faults = [each.fault for each in rehearsal.requests[-2:]]
    assert faults == ["slow-first-call", None]


def test_a_stale_document_is_the_one_from_before(
    rehearsal: Rehearsal, client: Client
) -> None:
    before = client.document()
    rehearsal.fault("stale")
    event = rehearsal.reboot("web-0")
    assert client.document() == before
    rehearsal.clear_faults()
    assert event.id in [each.id for each in client.document().events]
    event.cancel()


def test_a_refused_connection_is_no_answer(
    rehearsal: Rehearsal, client: Client
) -> None:
    client.document()
    rehearsal.fault("refused")
    with pytest.raises(Unreachable, match="nothing answers"):
        client.document()
    rehearsal.clear_faults()
    client.document()


def test_refused_connections_end_by_themselves(rehearsal: Rehearsal) -> None:
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
def test_an_approval_is_carried_out_or_not(kind: str, phase: Phase) -> None:
    with Rehearsal() as rehearsal, Client(rehearsal.endpoint, patience=HASTY) as client:
        event = rehearsal.reboot("web-0")
        rehearsal.fault(kind, on="approve")
        with pytest.raises((Refused, Unreachable)):
            client.approve(event.id)
        assert event.maintenance.phase is phase


def test_a_client_with_patience_repeats_an_approval_that_it_cannot_be_sure_of(
    rehearsal: Rehearsal,
) -> None:
    event = rehearsal.reboot("web-0")
    rehearsal.fault("reset", on="approve", count=1)
    with Client(rehearsal.endpoint) as patient:
        patient.approve(event.id)
    faults = [each.fault for each in rehearsal.requests if event.id in each.events]
    assert faults == ["reset", None]
    assert event.maintenance.phase is Phase.STARTED
    rehearsal.advance_to_end(event)


# --- the rest ----------------------------------------------------------------


def test_the_same_seed_draws_the_same_faults() -> None:
    def drawn() -> list[str | None]:
        with Rehearsal(seed=3) as made, Client(made.endpoint, patience=HASTY) as asking:
            made.fault("empty", probability=0.5)
            for _ in range(20):
                asking.document()
            return [each.fault for each in made.requests]

    once = drawn()
    assert once == drawn()
    assert {None, "empty"} == set(once)


def test_a_rehearsal_ends_while_answers_are_late() -> None:
    with Rehearsal() as made:
        made.fault("slow", delay="1m")
        found: list[int] = []

        def ask() -> None:
            with Client(made.endpoint, patience=HASTY) as client:
                found.append(client.document().incarnation)

        asking = Thread(target=ask)
        asking.start()
        assert made.watching.wait(lambda: bool(made.watching.came_at("web-0")), 5)
    asking.join(5)
    assert found == [0]


def test_one_fault_can_be_cleared(rehearsal: Rehearsal, client: Client) -> None:
    rehearsal.fault("500", vms=["db-0"])
    id_ = rehearsal.fault("503", vms="web-0")
    rehearsal.clear_faults(id_)
    client.document()
    with pytest.raises(NotFound):
        rehearsal.clear_faults(id_)


def test_a_fault_that_cannot_be_is_refused_by_a_sentence(rehearsal: Rehearsal) -> None:
    with pytest.raises(InvalidInput, match="kind is one of"):
        rehearsal.fault("418")
    with pytest.raises(NotFound, match="web-9"):
        rehearsal.fault("503", vms=["web-9"])


def test_a_status_may_be_a_number(rehearsal: Rehearsal, client: Client) -> None:
    rehearsal.fault(503, count=1)  # type: ignore[arg-type]  # as many write it
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
def test_an_option_that_cannot_be_is_refused_by_a_sentence(
    rehearsal: Rehearsal, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(InvalidInput, match=said):
        rehearsal.fault("503", **options)
