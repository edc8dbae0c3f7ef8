"""Asking too often (8.3)."""

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from tests.conformance.facts import fact
from tests.conformance.stage import Stage
from tests.conformance.target import NEEDS_HURRY, Serve, Target
from tests.conformance.vm import EVENTS, NEWEST, VM, Line, approval, events

LIMIT = 5
MANY = 30  # requests that arrive well within a second

INSTANCE = "/metadata/instance?api-version=2021-02-01"


def limited(serve: Serve) -> Stage:
    return serve(FOREWARN_REQUESTS_PER_SECOND=str(LIMIT))


def statuses(line: Line, request: bytes, count: int = MANY) -> list[int]:
    """Send a request again and again over one connection."""
    seen = []
    for _ in range(count):
        line.write(request)
        seen.append(line.read(request.split()[0].decode()).status)
    return seen


@contextmanager
def exhausted(vm: VM) -> Iterator[Line]:
    """A connection of a VM that has just asked too often."""
    with vm.line() as line:
        assert 429 in statuses(line, vm.request(events(NEWEST)))
        yield line


@fact("8.0h", "8.3b")
def test_who_asks_more_than_five_times_a_second_is_refused(serve: Serve) -> None:
    vm = limited(serve).alone()
    with vm.line() as line:
        seen = statuses(line, vm.request(events(NEWEST)))
    assert seen[:LIMIT] == [200] * LIMIT
    assert set(seen) == {200, 429}
    assert seen.count(429) > MANY // 2


@fact("8.3b")
def test_the_limit_is_for_all_paths_together(serve: Serve) -> None:
    vm = limited(serve).alone()
    with exhausted(vm) as line:
        assert 429 in statuses(line, vm.request(INSTANCE), LIMIT)


@fact("8.3b")
def test_the_limit_is_for_each_vm(serve: Serve) -> None:
    stage = limited(serve)
    one, other = stage.group()
    with exhausted(one):
        assert other.get().status == 200


@fact("8.3c")
def test_a_429_says_when_to_ask_again(serve: Serve) -> None:
    vm = limited(serve).alone()
    with exhausted(vm) as line:
        line.write(vm.request(events(NEWEST)) * LIMIT)
        answers = [line.read()]
    refused = [each for each in answers if each.status == 429]
    assert [each.header("Retry-After") for each in refused] == ["1"]
    assert refused[0].error


@fact("8.3d")
def test_there_is_no_limit_unless_it_is_set(tested: Target, vm: VM) -> None:
    if tested.control is None or tested.pace.interval:
        pytest.skip(NEEDS_HURRY)
    with vm.line() as line:
        assert set(statuses(line, vm.request(events(NEWEST)), 100)) == {200}


@fact("8.1g")
def test_an_unknown_caller_is_told_before_the_limit(serve: Serve) -> None:
    stage = limited(serve)
    nobody = stage.speak_for(f"{stage.prefix}-nobody")
    with nobody.line() as line:
        assert set(statuses(line, nobody.request(events(NEWEST)))) == {404}


@fact("8.1g")
def test_a_bad_version_is_told_before_the_limit(serve: Serve) -> None:
    vm = limited(serve).alone()
    with exhausted(vm) as line:
        assert set(statuses(line, vm.request(EVENTS), LIMIT)) == {400}


@fact("8.1h")
def test_the_limit_is_told_before_the_body(serve: Serve) -> None:
    vm = limited(serve).alone()
    bad = vm.request(events(NEWEST), method="POST", body=b"nonsense")
    with exhausted(vm) as line:
        assert 429 in statuses(line, bad, LIMIT)


@fact("9.8")
def test_an_approval_counts_for_the_limit(serve: Serve, unknown: str) -> None:
    vm = limited(serve).alone()
    post = vm.request(events(NEWEST), method="POST", body=approval(unknown))
    with vm.line() as line:
        assert 429 in statuses(line, post)
        line.write(vm.request(events(NEWEST)))
        assert line.read().status == 429
