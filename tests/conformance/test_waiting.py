"""Long polls (4.2k to 4.2q)."""

import time

import pytest
from tests.conformance.facts import fact
from tests.conformance.raw_connection import ReceivedResponse
from tests.conformance.temporary_fleet import TemporaryFleet
from tests.conformance.vm import NEWEST, VM, events

AT_ONCE = 10.0  # seconds: far less than the 30 that a client would wait
SHORT = 0.3  # seconds for which a long poll is observed to stay open


def tag_of(vm: VM) -> str:
    return vm.get().header("ETag") or ""


def response_to_change(fleet: TemporaryFleet, wait: str) -> ReceivedResponse:
    """Announce an event during a long poll and return the response to the poll."""
    (vm, _) = fleet.group()
    headers = (f"If-None-Match: {tag_of(vm)}", f"Prefer: {wait}")
    with vm.line() as line:
        line.write(vm.request(events(NEWEST), *headers))
        assert line.is_quiet(SHORT), "expected the request to be held"
        fleet.announce("Reboot", vm)
        return line.read()


def timed(vm: VM, *headers: str) -> tuple[ReceivedResponse, float]:
    """Send a GET and measure how many seconds it takes."""
    began = time.monotonic()
    response = vm.get(*headers)
    return response, time.monotonic() - began


@fact("4.2k")
def test_a_request_without_prefer_is_not_delayed(vm: VM) -> None:
    response, took = timed(vm, f"If-None-Match: {tag_of(vm)}")
    assert response.status == 304
    assert took < AT_ONCE


@fact("4.2l")
def test_a_long_poll_returns_when_the_document_changes(fleet: TemporaryFleet) -> None:
    response = response_to_change(fleet, "wait=30")
    assert response.status == 200
    assert len(response["Events"]) == 1
    assert response.seconds < AT_ONCE


@fact("4.2l")
def test_a_change_in_another_group_does_not_end_a_long_poll(
    fleet: TemporaryFleet,
) -> None:
    (vm, _), (other, _) = fleet.group(), fleet.group()
    headers = (f"If-None-Match: {tag_of(vm)}", "Prefer: wait=30")
    with vm.line() as line:
        line.write(vm.request(events(NEWEST), *headers))
        fleet.announce("Reboot", other)
        assert line.is_quiet(SHORT), "expected the request to be held"
        fleet.announce("Reboot", vm)
        assert len(line.read()["Events"]) == 1


@fact("4.2m")
def test_a_long_poll_returns_304_when_it_times_out(vm: VM) -> None:
    current = tag_of(vm)
    response, took = timed(vm, f"If-None-Match: {current}", "Prefer: wait=1")
    assert (response.status, response.body) == (304, b"")
    assert response.header("ETag") == current
    assert 0.9 <= took < AT_ONCE, f"expected about a second, seen {took:.2f}"


@fact("4.2m")
def test_a_wait_of_zero_returns_immediately(vm: VM) -> None:
    response, took = timed(vm, f"If-None-Match: {tag_of(vm)}", "Prefer: wait=0")
    assert response.status == 304
    assert took < AT_ONCE


@fact("4.2n")
def test_a_304_after_waiting_has_preference_applied(vm: VM) -> None:
    response = vm.get(f"If-None-Match: {tag_of(vm)}", "Prefer: wait=1")
    assert response.header("Preference-Applied") == "wait=1"


@fact("4.2n")
def test_a_200_after_waiting_has_preference_applied(fleet: TemporaryFleet) -> None:
    response = response_to_change(fleet, "wait=30")
    assert response.header("Preference-Applied") == "wait=30"


@fact("4.2o")
@pytest.mark.parametrize("seconds", [61, 3600, 999_999_999])
def test_a_long_poll_lasts_at_most_a_minute(
    fleet: TemporaryFleet, seconds: int
) -> None:
    response = response_to_change(fleet, f"wait={seconds}")
    assert response.header("Preference-Applied") == "wait=60"


@fact("4.2p")
def test_a_preference_without_a_tag_is_ignored(vm: VM) -> None:
    response, took = timed(vm, "Prefer: wait=30")
    assert response.status == 200
    assert response.header("Preference-Applied") is None
    assert took < AT_ONCE


@fact("4.2q")
@pytest.mark.parametrize("tag", ["0", '"other"'])
def test_a_long_poll_with_another_tag_returns_immediately(vm: VM, tag: str) -> None:
    response, took = timed(vm, f"If-None-Match: {tag}", "Prefer: wait=30")
    assert response.status == 200
    assert "Events" in response.json
    assert took < AT_ONCE
