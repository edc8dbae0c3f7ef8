"""Fault model: valid and invalid faults."""

import pytest

from forewarn.core.faults import Fault, FaultKind, FaultOn, check_fault, fault_of
from forewarn.errors import InvalidInput


def test_fault_needs_only_a_kind() -> None:
    assert fault_of("503") == Fault(kind=FaultKind.UNAVAILABLE)


def test_fault_takes_all_settings() -> None:
    fault = fault_of(
        "Slow",
        on="READ",
        vms=["web-0"],
        count=3,
        probability=0.5,
        duration=30.0,
        delay=0.25,
    )
    assert fault == Fault(
        kind=FaultKind.SLOW,
        on=FaultOn.READ,
        vms=("web-0",),
        count=3,
        probability=0.5,
        duration=30.0,
        delay=0.25,
    )


@pytest.mark.parametrize("kind", FaultKind)
def test_every_kind_is_parsed_from_its_value(kind: FaultKind) -> None:
    assert fault_of(kind.value).kind is kind


def test_unknown_kind_is_refused_with_the_known_kinds() -> None:
    with pytest.raises(InvalidInput, match=r'^kind: .* "slow", "429", .* not "404"'):
        fault_of("404")


def test_unknown_request_type_is_refused() -> None:
    with pytest.raises(InvalidInput, match='on: expected one of "any", "read", "app'):
        fault_of("503", on="write")


@pytest.mark.parametrize(
    ("fault", "sentence"),
    [
        (Fault(kind=FaultKind.ERROR, count=0), "must be at least 1"),
        (Fault(kind=FaultKind.ERROR, probability=0), "more than 0 and at most 1"),
        (Fault(kind=FaultKind.ERROR, probability=1.5), "more than 0 and at most 1"),
        (Fault(kind=FaultKind.ERROR, probability=float("nan")), "at most 1"),
        (Fault(kind=FaultKind.ERROR, duration=0), "at most a day"),
        (Fault(kind=FaultKind.ERROR, duration=float("inf")), "at most a day"),
        (Fault(kind=FaultKind.SLOW, delay=0), "at most an hour"),
        (Fault(kind=FaultKind.TOO_MANY, retry_after=-1), "at most a day"),
        (Fault(kind=FaultKind.STALE, on=FaultOn.APPROVE), "apply only to reads"),
        (Fault(kind=FaultKind.EMPTY, on=FaultOn.APPROVE), "apply only to reads"),
        (Fault(kind=FaultKind.SLOW, delay=3601), "at most an hour"),
        (Fault(kind=FaultKind.TOO_MANY, retry_after=86_401), "at most a day"),
    ],
)
def test_invalid_setting_is_refused_with_a_reason(fault: Fault, sentence: str) -> None:
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
def test_refused_connections_accept_no_filter(fault: Fault) -> None:
    with pytest.raises(InvalidInput, match="it accepts a duration, but not VMs"):
        check_fault(fault)


def test_refused_connections_may_have_a_duration() -> None:
    assert fault_of("refused", duration=2).duration == 2


@pytest.mark.parametrize(
    ("fault", "text"),
    [
        (Fault(kind=FaultKind.SLOW, delay=0.25), "response delayed by 0.25 s"),
        (
            Fault(kind=FaultKind.GONE, probability=0.5),
            "410 Gone (probability 50%)",
        ),
    ],
)
def test_text_has_the_delay_and_the_probability(fault: Fault, text: str) -> None:
    assert fault.text.startswith(text)


@pytest.mark.parametrize("kind", ["503", "reset", "stale"])
def test_only_slow_faults_have_a_delay(kind: str) -> None:
    with pytest.raises(InvalidInput, match="only slow and slow-first-call do"):
        fault_of(kind, delay=1)


@pytest.mark.parametrize("kind", ["500", "410", "slow"])
def test_only_429_and_503_have_retry_after(kind: str) -> None:
    with pytest.raises(InvalidInput, match="only 429 and 503 do"):
        fault_of(kind, retry_after=1)
