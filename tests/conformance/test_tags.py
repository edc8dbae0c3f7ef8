"""ETags: reading only what has changed (4.2)."""

import re

import pytest
from tests.conformance.control import Clock
from tests.conformance.facts import fact
from tests.conformance.temporary_fleet import TemporaryFleet
from tests.conformance.vm import VERSIONS, VM

FORMS = (
    "{quoted}",
    "{bare}",
    "W/{quoted}",
    '"other", {quoted}',
    '{quoted},"other"',
    'W/"other" , W/{quoted}',
    "*",
)


def tag(vm: VM) -> str:
    """Return the ETag of the document."""
    value = vm.get().header("ETag")
    assert value, "expected an ETag in the response, seen none"
    return value


@fact("4.2a")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_document_has_a_tag(vm: VM, version: str) -> None:
    assert vm.get(version=version).header("ETag")


@fact("4.2b")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_matching_tag_returns_304(vm: VM, version: str) -> None:
    current = vm.get(version=version).header("ETag")
    assert vm.get(f"If-None-Match: {current}", version=version).status == 304


@fact("4.2c")
def test_an_older_tag_returns_the_new_document(fleet: TemporaryFleet) -> None:
    (vm, _) = fleet.group()
    old = tag(vm)
    event = fleet.announce("Reboot", vm).event
    response = vm.get(f"If-None-Match: {old}")
    assert response.status == 200
    assert [shown["EventId"] for shown in response["Events"]] == [event]
    assert response.header("ETag") != old


@fact("4.2c")
def test_every_document_has_its_own_tag(fleet: TemporaryFleet, clock: Clock) -> None:
    (vm, _) = fleet.group()
    tags = [tag(vm)]
    event = fleet.announce("Reboot", vm).event
    tags.append(tag(vm))
    vm.approve(event)
    tags.append(tag(vm))
    clock.advance(minutes=1)
    tags.append(tag(vm))
    assert len(set(tags)) == 4


@fact("4.2d")
def test_the_tag_is_quoted(vm: VM) -> None:
    assert re.fullmatch(r'"[!#-~]+"', tag(vm))


@fact("4.2e")
def test_a_tag_from_before_24_hours_without_requests_matches_nothing(
    fleet: TemporaryFleet, clock: Clock
) -> None:
    vm = fleet.add_standalone_vm()
    assert vm.incarnation == 0
    old = tag(vm)
    clock.advance(hours=24)
    response = vm.get(f"If-None-Match: {old}")
    assert (response.status, response.body) == (200, vm.get().body)
    assert response["DocumentIncarnation"] == 0


@fact("4.2f")
@pytest.mark.parametrize("form", FORMS)
def test_a_tag_matches_in_every_valid_form(vm: VM, form: str) -> None:
    quoted = tag(vm)
    value = form.format(quoted=quoted, bare=quoted.strip('"'))
    assert vm.get(f"If-None-Match: {value}").status == 304


@fact("4.2f")
def test_a_tag_may_be_in_the_second_of_two_headers(vm: VM) -> None:
    lines = ('If-None-Match: "other"', f"If-None-Match: {tag(vm)}")
    assert vm.get(*lines).status == 304


@fact("4.2g")
@pytest.mark.parametrize("value", ["0", "null", '""', '"other"', "W/", ",", "-1"])
def test_any_other_tag_matches_nothing(vm: VM, value: str) -> None:
    response = vm.get(f"If-None-Match: {value}")
    assert response.status == 200
    assert "Events" in response.json


@fact("4.2h")
def test_a_304_has_no_body_and_repeats_the_tag(vm: VM) -> None:
    current = tag(vm)
    response = vm.get(f"If-None-Match: {current}")
    assert (response.status, response.body) == (304, b"")
    assert response.header("ETag") == current


@fact("4.2i")
def test_without_a_tag_the_document_is_always_sent(vm: VM) -> None:
    assert [vm.get().status for _ in range(3)] == [200, 200, 200]
