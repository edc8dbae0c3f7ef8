"""Responses to a GET, byte for byte (4)."""

import json
import re

import pytest
from tests.conformance.control import Clock
from tests.conformance.facts import fact
from tests.conformance.temporary_fleet import TemporaryFleet
from tests.conformance.vm import VERSIONS, VM

KEYS = (
    "EventId",
    "EventStatus",
    "EventType",
    "ResourceType",
    "Resources",
    "NotBefore",
    "Description",
    "EventSource",
    "DurationInSeconds",
)
RESTART = "Virtual machine is going to be restarted as requested by authorized user."
WEB = r'"NotBefore":"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT"'
ISO = r'"NotBefore":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"'


def restarted(fleet: TemporaryFleet) -> tuple[VM, str]:
    """Return a VM restarted by its user, and the id of the event."""
    (vm, _) = fleet.group()
    assert vm.incarnation == 0  # enables Scheduled Events for the group
    return vm, fleet.announce("Reboot", vm, source="User").event


def assert_body(vm: VM, event: str, version: str, name: str, *ends: str) -> None:
    """Compare the whole body: byte for byte, except for the date."""
    date = ISO if version == "2017-03-01" else WEB
    start = (
        f'{{"DocumentIncarnation":1,"Events":[{{"EventId":"{event}",'
        '"EventStatus":"Scheduled","EventType":"Reboot",'
        f'"ResourceType":"VirtualMachine","Resources":["{name}"],'
    )
    expected = re.escape(start) + date + re.escape("".join(ends) + "}]}")
    body = vm.get(version=version).body.decode()
    assert re.fullmatch(expected, body), f"expected {expected}, seen {body}"


# --- headers -----------------------------------------------------------------


@fact("4.1a")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_document_is_json_in_utf_8(vm: VM, version: str) -> None:
    response = vm.get(version=version)
    assert response.status == 200
    assert response.header("Content-Type") == "application/json; charset=utf-8"


@fact("4.1b")
def test_a_response_has_a_date(vm: VM) -> None:
    date = vm.get().header("Date") or ""
    form = r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d GMT"
    assert re.fullmatch(form, date), f"expected an HTTP date, seen {date!r}"


@fact("4.1d")
def test_the_body_is_sent_with_a_content_length(vm: VM) -> None:
    response = vm.get()
    assert response.header("Transfer-Encoding") is None
    assert response.header("Content-Length") == str(len(response.body))


@fact("4.1e")
def test_a_connection_can_be_reused(vm: VM) -> None:
    target = "/metadata/scheduledevents?api-version=2020-07-01"
    with vm.line() as line:
        for _ in range(3):
            line.write(vm.request(target))
            assert line.read().status == 200


# --- body --------------------------------------------------------------------


@fact("4.3a")
@pytest.mark.parametrize("version", VERSIONS)
def test_the_body_is_compact_json_on_one_line(vm: VM, version: str) -> None:
    body = vm.get(version=version).body
    compact = json.dumps(json.loads(body), ensure_ascii=False, separators=(",", ":"))
    assert body == compact.encode()


@fact("4.3b")
@pytest.mark.parametrize("version", VERSIONS)
def test_the_first_document_is_37_bytes_long(
    fleet: TemporaryFleet, version: str
) -> None:
    response = fleet.add_standalone_vm().get(version=version)
    assert response.body == b'{"DocumentIncarnation":0,"Events":[]}'
    assert response.header("Content-Length") == "37"


@fact("4.4a")
@pytest.mark.parametrize("version", VERSIONS)
def test_the_incarnation_comes_before_the_events(vm: VM, version: str) -> None:
    assert [*vm.document(version)] == ["DocumentIncarnation", "Events"]


@fact("4.4b")
@pytest.mark.parametrize("version", VERSIONS)
def test_the_keys_in_an_event_are_in_order(notified_vm: VM, version: str) -> None:
    for event in notified_vm.events(version):
        assert [*event] == [key for key in KEYS if key in event]
        assert [*event][:6] == [*KEYS[:6]]


@fact("4.4c")
@pytest.mark.parametrize("version", VERSIONS[:4])
def test_up_to_2019_01_01_an_event_ends_with_not_before(
    fleet: TemporaryFleet, version: str
) -> None:
    vm, event = restarted(fleet)
    name = f"_{vm.name}" if version == "2017-03-01" else vm.name
    assert_body(vm, event, version, name)


@fact("4.4d")
def test_with_2019_04_01_an_event_ends_with_its_description(
    fleet: TemporaryFleet,
) -> None:
    vm, event = restarted(fleet)
    assert_body(vm, event, "2019-04-01", vm.name, f',"Description":"{RESTART}"')


@fact("4.4e")
def test_with_2019_08_01_an_event_ends_with_its_source(fleet: TemporaryFleet) -> None:
    vm, event = restarted(fleet)
    ends = (f',"Description":"{RESTART}"', ',"EventSource":"User"')
    assert_body(vm, event, "2019-08-01", vm.name, *ends)


@fact("4.4f")
def test_with_2020_07_01_an_event_ends_with_its_duration(fleet: TemporaryFleet) -> None:
    vm, event = restarted(fleet)
    source = ',"EventSource":"User","DurationInSeconds":-1'
    assert_body(vm, event, "2020-07-01", vm.name, f',"Description":"{RESTART}"', source)


@fact("4.5b")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_document_is_returned_when_nothing_is_scheduled(
    fleet: TemporaryFleet, clock: Clock, version: str
) -> None:
    (vm, _) = fleet.group()
    vm.approve(fleet.announce("Reboot", vm).event)
    clock.advance(minutes=1)
    body = vm.get(version=version).body
    assert re.fullmatch(rb'\{"DocumentIncarnation":[0-9]+,"Events":\[\]\}', body)


# --- types of values ---------------------------------------------------------


@fact("4.6c")
@pytest.mark.parametrize("version", VERSIONS)
def test_the_incarnation_is_an_integer(vm: VM, version: str) -> None:
    number = vm.document(version)["DocumentIncarnation"]
    assert type(number) is int, f"expected a JSON integer, seen {number!r}"


@fact("4.7a")
@pytest.mark.parametrize("version", VERSIONS)
def test_events_is_always_an_array(vm: VM, version: str) -> None:
    listed = vm.document(version)["Events"]
    assert isinstance(listed, list), f"expected an array, seen {listed!r}"


@fact("4.7b")
@pytest.mark.parametrize("version", VERSIONS)
def test_resources_is_always_an_array(notified_vm: VM, version: str) -> None:
    for event in notified_vm.events(version):
        assert isinstance(event["Resources"], list)


@fact("4.7c")
@pytest.mark.parametrize("type", ["Freeze", "Preempt", "Terminate"])
def test_a_description_is_always_a_string(fleet: TemporaryFleet, type: str) -> None:
    vm, _ = fleet.announce_to_vm(type)
    text = vm.event()["Description"]
    assert isinstance(text, str), f"expected text, seen {text!r}"


@fact("4.7d")
@pytest.mark.parametrize("duration", [-1, 0, 9])
def test_a_duration_is_an_integer(fleet: TemporaryFleet, duration: int) -> None:
    vm, _ = fleet.announce_to_vm("Freeze", duration_seconds=duration)
    number = vm.event()["DurationInSeconds"]
    assert type(number) is int, f"expected a JSON integer, seen {number!r}"
