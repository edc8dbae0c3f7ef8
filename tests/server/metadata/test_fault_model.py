"""Faults as they are written: which can be, and how the others are refused."""

import pytest

from forewarn.errors import InvalidInput
from forewarn.server.metadata.faults.model import (
    Fault,
    FaultKind,
    FaultOn,
    check_fault,
    fault_of,
)


def test_a_fault_needs_no_more_than_its_kind() -> None:
    assert fault_of("503") == Fault(kind=FaultKind.UNAVAILABLE)


def test_all_of_a_fault_can_be_said() -> None:
    made = fault_of(
        "Slow",
        on="READ",
        vms=["web-0"],
        count=3,
        probability=0.5,
        seconds=30.0,
        delay=0.25,
    )
    assert made == Fault(
        kind=FaultKind.SLOW,
        on=FaultOn.READ,
        vms=("web-0",),
        count=3,
        probability=0.5,
        seconds=30.0,
        delay=0.25,
    )


@pytest.mark.parametrize("kind", FaultKind)
def test_every_kind_is_called_as_it_is_written(kind: FaultKind) -> None:
    assert fault_of(kind.value).kind is kind


def test_an_unknown_kind_is_refused_by_those_that_there_are() -> None:
    with pytest.raises(InvalidInput, match=r"slow-first-call, slow, 429, .* not '404'"):
        fault_of("404")


def test_an_unknown_kind_of_request_is_refused() -> None:
    with pytest.raises(InvalidInput, match="on is one of any, read, approve"):
        fault_of("503", on="write")


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (Fault(kind=FaultKind.ERROR, count=0), "give 1 or more"),
        (Fault(kind=FaultKind.ERROR, probability=0), "more than 0 and at most 1"),
        (Fault(kind=FaultKind.ERROR, probability=1.5), "more than 0 and at most 1"),
        (Fault(kind=FaultKind.ERROR, probability=float("nan")), "at most 1"),
        (Fault(kind=FaultKind.ERROR, seconds=0), "at most a day"),
        (Fault(kind=FaultKind.ERROR, seconds=float("inf")), "at most a day"),
        (Fault(kind=FaultKind.SLOW, delay=0), "at most an hour"),
        (Fault(kind=FaultKind.TOO_MANY, retry_after=-1), "at most a day"),
        (Fault(kind=FaultKind.STALE, on=FaultOn.APPROVE), "befall reads"),
        (Fault(kind=FaultKind.EMPTY, on=FaultOn.APPROVE), "befall reads"),
        (Fault(kind=FaultKind.SLOW, delay=3601), "at most an hour"),
        (Fault(kind=FaultKind.TOO_MANY, retry_after=86_401), "at most a day"),
    ],
)
def test_what_cannot_be_is_refused_by_a_sentence(fault: Fault, sentence: str) -> None:
    with pytest.raises(InvalidInput, match=sentence):
        check_fault(fault)


@pytest.mark.parametrize(
    "fault",
    [
        Fault(kind=FaultKind.REFUSED, count=3),
        Fault(kind=FaultKind.REFUSED, probability=0.5),
        Fault(kind=FaultKind.REFUSED, vms=("web-0",)),
        Fault(kind=FaultKind.REFUSED, on=FaultOn.READ),
    ],
)
def test_refused_connections_are_nobodys_in_particular(fault: Fault) -> None:
    with pytest.raises(InvalidInput, match="give only how long it lasts"):
        check_fault(fault)


def test_refused_connections_may_end_by_themselves() -> None:
    assert fault_of("refused", seconds=2).seconds == 2


@pytest.mark.parametrize("kind", ["503", "reset", "stale"])
def test_only_what_is_slow_has_a_delay(kind: str) -> None:
    with pytest.raises(InvalidInput, match="only slow and slow-first-call do"):
        fault_of(kind, delay=1)


@pytest.mark.parametrize("kind", ["500", "410", "slow"])
def test_only_some_ask_to_wait(kind: str) -> None:
    with pytest.raises(InvalidInput, match="only 429 and 503 do"):
        fault_of(kind, retry_after=1)
