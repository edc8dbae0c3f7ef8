"""Enabling of Scheduled Events by the first request, and disabling (10)."""

import pytest
from tests.conformance.control import Clock
from tests.conformance.facts import fact
from tests.conformance.target import Serve, Settings
from tests.conformance.temporary_fleet import TemporaryFleet
from tests.conformance.vm import EVENTS, NEWEST, VM, approval, events
from tests.end_to_end.program import until

DELAY = 3.0  # seconds
PROMPT = 2.0  # seconds: the shortest timeout of any known client

IGNORED = (
    ("GET", EVENTS, True),
    ("GET", f"{EVENTS}?api-version=latest", True),
    ("GET", events(NEWEST), False),
    ("POST", events(NEWEST), False),
    ("GET", "/metadata/instance?api-version=2021-02-01", True),
    ("GET", "/metadata/versions", True),
    ("PUT", events(NEWEST), True),
)


def counted(fleet: TemporaryFleet) -> VM:
    """Return a VM whose group has reached incarnation 2, so that a restart is
    visible.
    """
    (vm, _) = fleet.group()
    assert vm.incarnation == 0
    fleet.cancel(fleet.announce("Reboot", vm))
    assert vm.incarnation == 2
    return vm


@fact("10.1a")
def test_the_first_request_enables_scheduled_events(fleet: TemporaryFleet) -> None:
    (vm, other) = fleet.group()
    vm.get()
    fleet.announce("Reboot", other, source="User")
    assert vm.statuses == ["Scheduled"], "expected an enabled group to get notice"


@fact("10.2")
def test_after_24_hours_without_requests_user_events_start_immediately(
    fleet: TemporaryFleet, clock: Clock
) -> None:
    (vm, _) = fleet.group()
    vm.get()
    clock.advance(hours=24)
    fleet.announce("Reboot", vm, source="User")
    assert vm.statuses == ["Started"]


@fact("10.2")
def test_within_24_hours_of_a_request_user_events_are_scheduled(
    fleet: TemporaryFleet, clock: Clock
) -> None:
    (vm, _) = fleet.group()
    vm.get()
    clock.advance(24 * 3600 - 1)
    fleet.announce("Reboot", vm, source="User")
    assert vm.statuses == ["Scheduled"]


@fact("10.2")
def test_planned_maintenance_is_announced_after_24_hours_without_requests(
    fleet: TemporaryFleet, clock: Clock
) -> None:
    vm = counted(fleet)
    clock.advance(hours=24)
    fleet.announce("Reboot", vm)
    document = vm.document()
    assert document["DocumentIncarnation"] == 1
    assert document["Events"][0]["EventStatus"] == "Scheduled"


@fact("10.3a")
def test_the_first_request_gets_a_response_immediately(fleet: TemporaryFleet) -> None:
    responses = [fleet.add_standalone_vm().get() for _ in range(3)]
    assert {each.status for each in responses} == {200}
    assert (
        min(each.seconds for each in responses) < PROMPT
    )  # the others may be slow by chance


@pytest.fixture
def slow(serve: Serve) -> TemporaryFleet:
    """Provide a fleet where the first request of a group is delayed."""
    return serve(Settings(first_call_delay=str(DELAY)))


@fact("10.3c")
def test_a_setting_delays_the_first_request(slow: TemporaryFleet) -> None:
    vm = slow.add_standalone_vm()
    first, *later = [vm.get() for _ in range(4)]
    assert {each.status for each in (first, *later)} == {200}
    assert first.seconds >= DELAY / 2
    assert (
        min(each.seconds for each in later) < DELAY / 2
    )  # the others may be slow by chance


def is_enabled(fleet: TemporaryFleet, vm: VM) -> bool:
    """Return whether the journal shows that the group of `vm` has been enabled."""
    group = fleet.control.send("GET", f"/v1/vms/{vm.name}")["group"]
    path = f"/v1/journal?fact=Enabled&group={group}"
    return bool(fleet.control.send("GET", path)["items"])


@fact("10.3c")
def test_scheduled_events_is_enabled_during_the_delay(slow: TemporaryFleet) -> None:
    (vm, other) = slow.group()
    with vm.line() as line:
        line.write(vm.request(events(NEWEST)))
        until(lambda: is_enabled(slow, vm))
        assert line.is_quiet(0.3), "expected the request to be delayed"
        slow.announce("Reboot", other, source="User")
        (event,) = line.read()["Events"]
    assert event["EventStatus"] == "Scheduled", (
        "expected an enabled group to get notice"
    )


@fact("10.3d")
def test_requests_during_the_delay_receive_a_response_at_the_same_time(
    slow: TemporaryFleet,
) -> None:
    (vm, other) = slow.group()
    with vm.line() as first, other.line() as second:
        first.write(vm.request(events(NEWEST)))
        assert first.is_quiet(DELAY * 3 / 4), "expected the request to be delayed"
        second.write(other.request(events(NEWEST)))
        assert first.read().status == 200
        assert second.read().seconds < DELAY / 2


@fact("10.3e")
def test_an_approval_during_the_delay_takes_effect_immediately(
    slow: TemporaryFleet,
) -> None:
    (vm, _) = slow.group()
    announced = slow.announce("Reboot", vm)
    (event,) = announced.maintenance["events"]
    post = vm.request(events(NEWEST), method="POST", body=approval(event["id"]))
    with vm.line() as line:
        line.write(post)
        until(lambda: slow.phase(announced) == "STARTED")
        assert line.is_quiet(0.3), "expected the response to be delayed"
        assert line.read("POST").status == 200


@fact("10.3b")
@pytest.mark.parametrize(("method", "target", "marked"), IGNORED)
def test_rejected_and_unrelated_requests_do_not_count(
    fleet: TemporaryFleet, clock: Clock, method: str, target: str, marked: bool
) -> None:
    vm = counted(fleet)
    clock.advance(hours=23)
    vm.send(target, method=method, marked=marked)
    clock.advance(hours=1)
    assert vm.incarnation == 0


@fact("10.3b")
@pytest.mark.parametrize("header", ["If-None-Match: *", "If-None-Match: 0"])
def test_a_conditional_request_counts(
    fleet: TemporaryFleet, clock: Clock, header: str
) -> None:
    vm = counted(fleet)
    clock.advance(hours=23)
    vm.get(header)
    clock.advance(hours=1)
    assert vm.incarnation == 2


@fact("9.8")
def test_an_approval_counts_as_a_request(
    fleet: TemporaryFleet, clock: Clock, unknown: str
) -> None:
    vm = counted(fleet)
    clock.advance(hours=23)
    vm.post(approval(unknown))
    clock.advance(hours=1)
    assert vm.incarnation == 2
