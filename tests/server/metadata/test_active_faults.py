"""Active faults: selecting the fault that applies to a request."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.server.support.handlers import NOON

from forewarn.core.faults import Fault, FaultKind, FaultOn, FaultTrait
from forewarn.errors import InvalidInput, NotFound
from forewarn.server.metadata.faults.active import ActiveFault, ActiveFaults

VMS = ("web-0", "web-1", "db-0")
ERROR = Fault(kind=FaultKind.ERROR)

#: Requests: VM, whether it is a read, and seconds since the previous request.
REQUESTS = st.lists(
    st.tuples(st.sampled_from(VMS), st.booleans(), st.floats(0, 10)), max_size=30
)
FAULTS = st.builds(
    Fault,
    kind=st.sampled_from([each for each in FaultKind if each is not FaultKind.REFUSED]),
    on=st.sampled_from([FaultOn.ANY, FaultOn.READ]),
    vms=st.lists(st.sampled_from(VMS), max_size=2).map(tuple),
    count=st.none() | st.integers(1, 5),
    probability=st.sampled_from([1.0, 0.5]),
    duration=st.none() | st.floats(0.1, 50),
)


def a_set(*faults: Fault, seed: int = 0) -> ActiveFaults:
    active = ActiveFaults(Random(seed).random)
    for fault in faults:
        active.add(fault, 0.0, by="admin", at=NOON)
    return active


def applied_faults(
    faults: ActiveFaults, *vms: str, now: float = 0.0
) -> list[str | None]:
    """Return the kind of fault that applies to a read of each of `vms`."""
    hits = [faults.match(vm, is_read=True, now=now) for vm in vms]
    return [None if hit is None else hit.fault.kind.value for hit in hits]


# --- single faults -----------------------------------------------------------


def test_no_fault_applies_by_default() -> None:
    assert applied_faults(a_set(), "web-0") == [None]


def test_fault_applies_to_all_vms_until_it_is_cleared() -> None:
    faults = a_set(ERROR)
    assert applied_faults(faults, "web-0", "db-0") == ["500", "500"]
    faults.clear()
    assert applied_faults(faults, "web-0") == [None]


def test_fault_with_a_count_ends_after_that_many_requests() -> None:
    faults = a_set(replace(ERROR, count=2))
    assert applied_faults(faults, "web-0", "web-1", "web-0") == ["500", "500", None]
    assert faults.all() == []


def test_remaining_count_is_listed() -> None:
    faults = a_set(replace(ERROR, count=2))
    applied_faults(faults, "web-0")
    assert [active.left for active in faults.all()] == [1]


def test_fault_with_a_duration_ends_in_time() -> None:
    faults = a_set(replace(ERROR, duration=5))
    assert applied_faults(faults, "web-0", now=4.9) == ["500"]
    assert applied_faults(faults, "web-0", now=5.0) == [None]


def test_fault_for_some_vms_does_not_affect_others() -> None:
    faults = a_set(replace(ERROR, vms=("web-0",), count=1))
    assert applied_faults(faults, "web-1", "web-0", "web-0") == [None, "500", None]


@pytest.mark.parametrize(
    ("on", "reads", "approvals"),
    [
        (FaultOn.READ, True, False),
        (FaultOn.APPROVE, False, True),
        (FaultOn.ANY, True, True),
    ],
)
def test_fault_may_apply_only_to_reads_or_approvals(
    on: FaultOn, reads: bool, approvals: bool
) -> None:
    faults = a_set(replace(ERROR, on=on))
    assert bool(faults.match("web-0", is_read=True, now=0)) is reads
    assert bool(faults.match("web-0", is_read=False, now=0)) is approvals


@pytest.mark.parametrize("kind", [FaultKind.STALE, FaultKind.EMPTY])
def test_stale_and_empty_faults_do_not_apply_to_approvals(kind: FaultKind) -> None:
    faults = a_set(Fault(kind=kind, count=1))
    assert faults.match("web-0", is_read=False, now=0) is None
    assert applied_faults(faults, "web-0") == [kind.value]


def test_only_the_first_matching_fault_applies() -> None:
    slow = Fault(kind=FaultKind.SLOW, vms=("db-0",))
    faults = a_set(slow, replace(ERROR, count=1), Fault(kind=FaultKind.GONE))
    assert applied_faults(faults, "web-0", "db-0", "web-0") == ["500", "slow", "410"]


def test_slow_first_call_applies_once_per_vm() -> None:
    faults = a_set(Fault(kind=FaultKind.SLOW_FIRST_CALL))
    slow = FaultKind.SLOW_FIRST_CALL.value
    kinds = applied_faults(faults, "web-0", "web-0", "web-1", "web-0", "web-1")
    assert kinds == [slow, None, slow, None, None]


def test_refused_connections_apply_to_no_request() -> None:
    assert applied_faults(a_set(Fault(kind=FaultKind.REFUSED)), "web-0") == [None]


def test_active_kinds_are_listed_once_each() -> None:
    faults = a_set(ERROR, Fault(kind=FaultKind.SLOW), ERROR)
    assert faults.kinds == ["500", "slow"]


def test_single_fault_is_cleared_by_its_id() -> None:
    faults = a_set(ERROR, Fault(kind=FaultKind.SLOW))
    (ended,) = faults.clear("f1")
    assert ended.fault == ERROR
    assert faults.kinds == ["slow"]


def test_ids_are_not_reused() -> None:
    faults = a_set(ERROR)
    faults.clear()
    assert faults.add(ERROR, 0.0, by="admin", at=NOON).id == "f2"


def test_clearing_an_unknown_fault_fails() -> None:
    with pytest.raises(NotFound, match="active fault f7 not found"):
        a_set(ERROR).clear("f7")


def test_invalid_fault_is_not_activated() -> None:
    faults = a_set()
    with pytest.raises(InvalidInput):
        faults.add(replace(ERROR, count=0), 0.0, by="admin", at=NOON)
    assert faults.all() == []


def test_faulted_requests_are_counted_by_kind() -> None:
    faults = a_set(replace(ERROR, count=2), Fault(kind=FaultKind.SLOW))
    applied_faults(faults, "web-0", "web-0", "web-0")
    assert faults.counts() == {FaultKind.ERROR: 2, FaultKind.SLOW: 1}


def test_request_spared_by_probability_does_not_count() -> None:
    faults = ActiveFaults(lambda: 0.9)
    faults.add(replace(ERROR, probability=0.5, count=1), 0.0, by="admin", at=NOON)
    assert applied_faults(faults, "web-0") == [None]
    assert [active.left for active in faults.all()] == [1]
    assert faults.counts() == {}


def test_certain_fault_draws_no_random_number() -> None:
    draws = iter([0.1])
    faults = ActiveFaults(draws.__next__)
    faults.add(ERROR, 0.0, by="admin", at=NOON)
    assert applied_faults(faults, "web-0") == ["500"]
    assert [*draws] == [0.1]


# --- random sequences of requests --------------------------------------------


def play(
    faults: ActiveFaults, requests: Sequence[tuple[str, bool, float]]
) -> list[tuple[str, bool, float, ActiveFault | None]]:
    """Send `requests` in order; return each with its time and the applied fault."""
    now, results = 0.0, []
    for vm, is_read, later in requests:
        now += later
        hit = faults.match(vm, is_read=is_read, now=now)
        results.append((vm, is_read, now, hit))
    return results


@given(st.lists(FAULTS, max_size=4), REQUESTS, st.integers(0, 9))
def test_no_fault_exceeds_its_limits(
    faults: list[Fault], requests: list[tuple[str, bool, float]], seed: int
) -> None:
    results = play(a_set(*faults, seed=seed), requests)
    for number, fault in enumerate(faults, 1):
        matching = [
            result for result in results if result[3] and result[3].id == f"f{number}"
        ]
        assert fault.count is None or len(matching) <= fault.count
        assert all(not fault.vms or vm in fault.vms for vm, *_ in matching)
        assert all(
            fault.duration is None or at < fault.duration for *_, at, _ in matching
        )
        if fault.on is FaultOn.READ or fault.kind.trait is FaultTrait.READS:
            assert all(is_read for _, is_read, *_ in matching)
        if fault.kind is FaultKind.SLOW_FIRST_CALL:
            assert len({vm for vm, *_ in matching}) == len(matching)


@given(st.lists(FAULTS, max_size=4), REQUESTS, st.integers(0, 9))
def test_same_seed_selects_the_same_faults(
    faults: list[Fault], requests: list[tuple[str, bool, float]], seed: int
) -> None:
    first, second = (play(a_set(*faults, seed=seed), requests) for _ in range(2))
    assert first == second


@given(REQUESTS)
def test_certain_fault_without_limits_applies_to_every_request(
    requests: list[tuple[str, bool, float]],
) -> None:
    assert all(result[3] for result in play(a_set(ERROR), requests))


def test_share_of_faulted_requests_matches_the_probability() -> None:
    faults = a_set(replace(ERROR, probability=0.25))
    kinds = applied_faults(faults, *["web-0"] * 1000)
    assert 200 < kinds.count("500") < 300
