"""Approvals that are refused and change nothing (9.4c to 9.6)."""

import pytest
from tests.conformance.facts import fact
from tests.conformance.temporary_fleet import TemporaryFleet
from tests.conformance.vm import VM, approval

MALFORMED = (
    b"",
    b" ",
    b"nonsense",
    b"null",
    b"[]",
    b'"StartRequests"',
    b"{}",
    b'{"StartRequests":null}',
    b'{"StartRequests":{}}',
    b'{"StartRequests":"E"}',
    b'{"StartRequests":[]}',
    b'{"StartRequests":[null]}',
    b'{"StartRequests":["E"]}',
    b'{"StartRequests":[{}]}',
    b'{"StartRequests":[{"EventId":null}]}',
    b'{"StartRequests":[{"EventId":5}]}',
    b'{"StartRequests":[{"EventId":["E"]}]}',
    b'{"StartRequests":[{"EventId":"E"}]',
    b'\xff\xfe{"StartRequests":[{"EventId":"E"}]}',
)

#: Lists with one good id (%s) and something invalid.
SPOILED = (
    '{"StartRequests":[{"EventId":"%s"},{}]}',
    '{"StartRequests":[{"EventId":"%s"},{"EventId":7}]}',
    '{"StartRequests":[null,{"EventId":"%s"}]}',
    '{"StartRequests":[{"EventId":"%s"}]} and more',
)


@fact("9.4c")
def test_an_unknown_id_is_rejected(vm: VM, unknown: str) -> None:
    response = vm.approve(unknown)
    assert response.status == 400
    assert unknown in response.error.upper()


@fact("9.4c")
@pytest.mark.parametrize("id", ["x", "", "00000000", "{GUID}", "ä", "a" * 500])
def test_a_malformed_id_is_rejected(vm: VM, id: str) -> None:
    response = vm.approve(id)
    assert response.status == 400
    assert response.error


@fact("9.4c")
def test_an_event_from_another_group_is_unknown(fleet: TemporaryFleet) -> None:
    (vm, _), (other, _) = fleet.group(), fleet.group()
    event = fleet.announce("Reboot", vm).event
    response = other.approve(event)
    assert response.status == 400
    assert response.error
    assert vm.statuses == ["Scheduled"]


@fact("9.5a")
def test_one_unknown_id_invalidates_the_whole_list(
    fleet: TemporaryFleet, unknown: str
) -> None:
    first, second = fleet.group()
    ids = [fleet.announce("Reboot", vm).event for vm in (first, second)]
    response = first.approve(ids[0], unknown, ids[1])
    assert response.status == 400
    assert unknown in response.error.upper()
    assert first.statuses == ["Scheduled", "Scheduled"]


@fact("9.5a")
def test_a_rejected_list_approves_nothing(fleet: TemporaryFleet, unknown: str) -> None:
    host = fleet.host()
    (vm,), (other,) = (fleet.group(1, vms={"host": host}) for _ in range(2))
    fleet.announce("Reboot", host=host)
    mine, theirs = vm.event()["EventId"], other.event()["EventId"]
    assert vm.approve(mine, unknown).status == 400
    assert other.approve(theirs).status == 200
    assert vm.statuses == ["Scheduled"], "the refused approval must not count"


@fact("9.6a")
@pytest.mark.parametrize("body", MALFORMED)
def test_a_malformed_approval_is_rejected(vm: VM, body: bytes) -> None:
    assert vm.post(body).status == 400


@fact("9.6b")
@pytest.mark.parametrize("form", SPOILED)
def test_a_malformed_approval_approves_nothing(
    fleet: TemporaryFleet, form: str
) -> None:
    vm, event = fleet.announce_to_vm()
    assert vm.post((form % event).encode()).status == 400
    assert vm.statuses == ["Scheduled"]
    assert vm.post(approval(event)).status == 200
