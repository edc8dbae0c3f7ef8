"""Rate limit (8.3)."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import pytest
from tests.conformance.facts import fact
from tests.conformance.raw_connection import RawConnection, ReceivedResponse
from tests.conformance.target import NEEDS_FAST_POLLS, Serve, Settings, Target
from tests.conformance.temporary_fleet import TemporaryFleet
from tests.conformance.vm import EVENTS, NEWEST, VM, approval, events

LIMIT = 5
MANY = 100

INSTANCE = "/metadata/instance?api-version=2021-02-01"


@pytest.fixture
def limited(serve: Serve) -> TemporaryFleet:
    """Provide a fleet where each VM may send five requests a second."""
    return serve(Settings(requests_per_second=str(LIMIT)))


def send_request(line: RawConnection, request: bytes) -> ReceivedResponse:
    """Send `request` over an open connection."""
    line.write(request)
    return line.read(request.split()[0].decode())


def request_until_refused(
    line: RawConnection, request: bytes
) -> list[ReceivedResponse]:
    """Send `request` repeatedly until it gets a 429."""
    responses = [send_request(line, request)]
    while responses[-1].status != 429:
        assert len(responses) < MANY, f"expected a 429, seen none in {MANY} responses"
        responses.append(send_request(line, request))
    return responses


@dataclass(frozen=True, slots=True, kw_only=True)
class Exhausted:
    """A connection of a VM that has just exceeded its limit."""

    line: RawConnection
    since: float  # before the limit was exceeded, on the monotonic clock

    def check_limit_still_applies(self, request: bytes) -> None:
        """Check that `request` succeeds no more often than the elapsed time allows."""
        answered = request_until_refused(self.line, request)[:-1]
        assert len(answered) <= LIMIT * (time.monotonic() - self.since)


@contextmanager
def exhausted(vm: VM, request: bytes | None = None) -> Iterator[Exhausted]:
    """Send `request`, by default a poll, until `vm` has exceeded its limit."""
    with vm.line() as line:
        since = time.monotonic()
        request_until_refused(line, request or vm.request(events(NEWEST)))
        yield Exhausted(line=line, since=since)


@fact("8.0h", "8.3b")
def test_five_requests_per_second_succeed_and_more_return_429(
    limited: TemporaryFleet,
) -> None:
    vm = limited.add_standalone_vm()
    with vm.line() as line:
        *answered, refused = request_until_refused(line, vm.request(events(NEWEST)))
    assert len(answered) >= LIMIT
    assert {response.status for response in answered} == {200}
    assert refused.error


@fact("8.3b")
def test_the_rate_limit_covers_all_paths_together(limited: TemporaryFleet) -> None:
    vm = limited.add_standalone_vm()
    with exhausted(vm) as spent:
        spent.check_limit_still_applies(vm.request(INSTANCE))


@fact("8.3b")
def test_the_rate_limit_applies_to_each_vm_separately(limited: TemporaryFleet) -> None:
    first, second = limited.group()
    with exhausted(first):
        assert second.get().status == 200


@fact("8.3c")
def test_a_429_response_has_retry_after(limited: TemporaryFleet) -> None:
    vm = limited.add_standalone_vm()
    with vm.line() as line:
        refused = request_until_refused(line, vm.request(events(NEWEST)))[-1]
    assert refused.header("Retry-After") == "1"


@fact("8.3d")
def test_there_is_no_rate_limit_by_default(target_service: Target, vm: VM) -> None:
    if target_service.control is None or target_service.pace.interval:
        pytest.skip(NEEDS_FAST_POLLS)
    request = vm.request(events(NEWEST))
    with vm.line() as line:
        assert {send_request(line, request).status for _ in range(MANY)} == {200}


@fact("8.1g")
def test_an_unknown_caller_is_reported_before_the_rate_limit(
    limited: TemporaryFleet,
) -> None:
    nobody = limited.endpoint_of(f"{limited.prefix}-nobody")
    request = nobody.request(events(NEWEST))
    with nobody.line() as line:
        assert {send_request(line, request).status for _ in range(3 * LIMIT)} == {404}


@fact("8.1g")
def test_a_bad_version_is_reported_before_the_rate_limit(
    limited: TemporaryFleet,
) -> None:
    vm = limited.add_standalone_vm()
    with exhausted(vm) as spent:
        seen = {
            send_request(spent.line, vm.request(EVENTS)).status for _ in range(LIMIT)
        }
    assert seen == {400}


@fact("8.1h")
def test_the_rate_limit_is_reported_before_a_bad_body(limited: TemporaryFleet) -> None:
    vm = limited.add_standalone_vm()
    bad = vm.request(events(NEWEST), method="POST", body=b"nonsense")
    with exhausted(vm) as spent:
        spent.check_limit_still_applies(bad)


@fact("9.8")
def test_an_approval_counts_toward_the_rate_limit(
    limited: TemporaryFleet, unknown: str
) -> None:
    vm = limited.add_standalone_vm()
    post = vm.request(events(NEWEST), method="POST", body=approval(unknown))
    with exhausted(vm, post) as spent:
        spent.check_limit_still_applies(vm.request(events(NEWEST)))
