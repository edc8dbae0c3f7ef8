"""Faults in force: which of them befalls a request."""

from collections.abc import Sequence
from dataclasses import replace
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.server.support.handlers import NOON

from forewarn.errors import InvalidInput, NotFound
from forewarn.server.metadata.faults.active import ActiveFault, ActiveFaults
from forewarn.server.metadata.faults.model import Fault, FaultKind, FaultOn

VMS = ("web-0", "web-1", "db-0")
ERROR = Fault(kind=FaultKind.ERROR)

#: One request: who asks, whether he reads, and how much later than the one before.
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
    seconds=st.none() | st.floats(0.1, 50),
)


def a_set(*faults: Fault, seed: int = 0) -> ActiveFaults:
    made = ActiveFaults(Random(seed).random)
    for each in faults:
        made.add(each, 0.0, by="admin", at=NOON)
    return made


def befallen(faults: ActiveFaults, *vms: str, now: float = 0.0) -> list[str | None]:
    """The kind of fault that befalls a read of each of `vms`."""
    met = [faults.match(vm, is_read=True, now=now) for vm in vms]
    return [None if each is None else each.fault.kind.value for each in met]


# --- one after the other -----------------------------------------------------


def test_without_faults_nothing_goes_wrong() -> None:
    assert befallen(a_set(), "web-0") == [None]


def test_a_fault_befalls_everybody_until_it_is_cleared() -> None:
    faults = a_set(ERROR)
    assert befallen(faults, "web-0", "db-0") == ["500", "500"]
    faults.clear()
    assert befallen(faults, "web-0") == [None]


def test_a_fault_with_a_count_ends_after_so_many() -> None:
    faults = a_set(replace(ERROR, count=2))
    assert befallen(faults, "web-0", "web-1", "web-0") == ["500", "500", None]
    assert faults.all() == []


def test_how_many_are_left_is_told() -> None:
    faults = a_set(replace(ERROR, count=2))
    befallen(faults, "web-0")
    assert [each.left for each in faults.all()] == [1]


def test_a_fault_with_a_time_ends_then() -> None:
    faults = a_set(replace(ERROR, seconds=5))
    assert befallen(faults, "web-0", now=4.9) == ["500"]
    assert befallen(faults, "web-0", now=5.0) == [None]


def test_a_fault_of_some_vms_leaves_others_alone() -> None:
    faults = a_set(replace(ERROR, vms=("web-0",), count=1))
    assert befallen(faults, "web-1", "web-0", "web-0") == [None, "500", None]


@pytest.mark.parametrize(
    ("on", "reads", "approvals"),
    [
        (FaultOn.READ, True, False),
        (FaultOn.APPROVE, False, True),
        (FaultOn.ANY, True, True),
    ],
)
def test_a_fault_may_befall_reads_or_approvals_alone(
    on: FaultOn, reads: bool, approvals: bool
) -> None:
    faults = a_set(replace(ERROR, on=on))
    assert bool(faults.match("web-0", is_read=True, now=0)) is reads
    assert bool(faults.match("web-0", is_read=False, now=0)) is approvals


@pytest.mark.parametrize("kind", [FaultKind.STALE, FaultKind.EMPTY])
def test_approvals_are_neither_stale_nor_empty_and_not_counted(kind: FaultKind) -> None:
    faults = a_set(Fault(kind=kind, count=1))
    assert faults.match("web-0", is_read=False, now=0) is None
    assert befallen(faults, "web-0") == [kind.value]


def test_the_first_that_fits_befalls_a_request_and_no_other() -> None:
    slow = Fault(kind=FaultKind.SLOW, vms=("db-0",))
    faults = a_set(slow, replace(ERROR, count=1), Fault(kind=FaultKind.GONE))
    assert befallen(faults, "web-0", "db-0", "web-0") == ["500", "slow", "410"]


def test_the_first_call_of_each_vm_is_slow_once() -> None:
    faults = a_set(Fault(kind=FaultKind.SLOW_FIRST_CALL))
    slow = FaultKind.SLOW_FIRST_CALL.value
    found = befallen(faults, "web-0", "web-0", "web-1", "web-0", "web-1")
    assert found == [slow, None, slow, None, None]


def test_refused_connections_befall_no_request() -> None:
    assert befallen(a_set(Fault(kind=FaultKind.REFUSED)), "web-0") == [None]


def test_the_kinds_in_force_are_told_once_each() -> None:
    faults = a_set(ERROR, Fault(kind=FaultKind.SLOW), ERROR)
    assert faults.kinds == ["500", "slow"]


def test_one_fault_is_cleared_by_its_id() -> None:
    faults = a_set(ERROR, Fault(kind=FaultKind.SLOW))
    (ended,) = faults.clear("f1")
    assert ended.fault == ERROR
    assert faults.kinds == ["slow"]


def test_an_id_is_not_given_twice() -> None:
    faults = a_set(ERROR)
    faults.clear()
    assert faults.add(ERROR, 0.0, by="admin", at=NOON).id == "f2"


def test_a_fault_that_is_not_in_force_cannot_be_cleared() -> None:
    with pytest.raises(NotFound, match="there is no fault f7"):
        a_set(ERROR).clear("f7")


def test_what_cannot_be_is_not_put_in_force() -> None:
    faults = a_set()
    with pytest.raises(InvalidInput):
        faults.add(replace(ERROR, count=0), 0.0, by="admin", at=NOON)
    assert faults.all() == []


def test_what_was_befallen_is_counted_by_kind() -> None:
    faults = a_set(replace(ERROR, count=2), Fault(kind=FaultKind.SLOW))
    befallen(faults, "web-0", "web-0", "web-0")
    assert faults.counts() == {FaultKind.ERROR: 2, FaultKind.SLOW: 1}


def test_what_chance_spares_is_neither_counted_nor_spent() -> None:
    spared = ActiveFaults(lambda: 0.9)
    spared.add(replace(ERROR, probability=0.5, count=1), 0.0, by="admin", at=NOON)
    assert befallen(spared, "web-0") == [None]
    assert [each.left for each in spared.all()] == [1]
    assert spared.counts() == {}


def test_what_is_certain_draws_nothing() -> None:
    draws = iter([0.1])
    faults = ActiveFaults(draws.__next__)
    faults.add(ERROR, 0.0, by="admin", at=NOON)
    assert befallen(faults, "web-0") == ["500"]
    assert [*draws] == [0.1]


# --- any of them, in any order -----------------------------------------------


def play(
    faults: ActiveFaults, requests: Sequence[tuple[str, bool, float]]
) -> list[tuple[str, bool, float, ActiveFault | None]]:
    """Ask one after the other; tell who asked when, and what befell him."""
    now, met = 0.0, []
    for vm, is_read, later in requests:
        now += later
        found = faults.match(vm, is_read=is_read, now=now)
        met.append((vm, is_read, now, found))
    return met


@given(st.lists(FAULTS, max_size=4), REQUESTS, st.integers(0, 9))
def test_no_fault_goes_beyond_its_limits(
    faults: list[Fault], requests: list[tuple[str, bool, float]], seed: int
) -> None:
    played = play(a_set(*faults, seed=seed), requests)
    for number, fault in enumerate(faults, 1):
        own = [each for each in played if each[3] and each[3].id == f"f{number}"]
        assert fault.count is None or len(own) <= fault.count
        assert all(not fault.vms or vm in fault.vms for vm, *_ in own)
        assert all(fault.seconds is None or at < fault.seconds for *_, at, _ in own)
        if fault.on is FaultOn.READ or fault.kind in (FaultKind.STALE, FaultKind.EMPTY):
            assert all(is_read for _, is_read, *_ in own)
        if fault.kind is FaultKind.SLOW_FIRST_CALL:
            assert len({vm for vm, *_ in own}) == len(own)


@given(st.lists(FAULTS, max_size=4), REQUESTS, st.integers(0, 9))
def test_the_same_seed_draws_the_same(
    faults: list[Fault], requests: list[tuple[str, bool, float]], seed: int
) -> None:
    once, again = (play(a_set(*faults, seed=seed), requests) for _ in range(2))
    assert once == again


@given(REQUESTS)
def test_a_certain_fault_without_limits_befalls_every_request(
    requests: list[tuple[str, bool, float]],
) -> None:
    assert all(each[3] for each in play(a_set(ERROR), requests))


def test_about_as_many_are_befallen_as_the_probability_says() -> None:
    faults = a_set(replace(ERROR, probability=0.25))
    met = befallen(faults, *["web-0"] * 1000)
    assert 200 < met.count("500") < 300
