"""NotBefore, and the fields of later versions (5.7c to 5.10)."""

import pytest
from tests.conformance.control import Clock
from tests.conformance.facts import fact
from tests.conformance.target import Serve, Settings
from tests.conformance.temporary_fleet import TemporaryFleet
from tests.conformance.test_fields import TYPES, announced
from tests.conformance.vm import VERSIONS, VM

MAINTENANCE = "Host server is undergoing maintenance."
REPAIR = "Host server is undergoing an emergency repair."
RESTART = "Virtual machine is going to be restarted as requested by authorized user."
REDEPLOY = "Virtual machine is going to be redeployed as requested by authorized user."
LIVE_MIGRATION = (
    "Virtual machine is being paused because of a memory-preserving Live Migration"
    " operation."
)
KNOWN = {
    MAINTENANCE,
    "Host Server infrastructure is undergoing maintenance.",
    LIVE_MIGRATION,
    RESTART,
    REDEPLOY,
    REPAIR,
    "Virtual machine has encountered a failure.",
    "",
}


def of_user(fleet: TemporaryFleet, type: str) -> VM:
    """Return a VM with one user-initiated event."""
    (vm, _) = fleet.group()
    vm.get()  # user-initiated events are scheduled only while enabled
    fleet.announce(type, vm, source="User")
    return vm


# --- NotBefore ---------------------------------------------------------------


@fact("5.7c")
def test_a_setting_selects_the_same_not_before_format_in_all_versions(
    serve: Serve,
) -> None:
    fleet = serve(Settings(not_before_2017_03_01="rfc1123"))
    vm = announced(fleet, "Reboot")
    assert vm.event("2017-03-01")["NotBefore"] == vm.event()["NotBefore"]


@fact("5.7d")
@pytest.mark.parametrize("version", VERSIONS)
def test_a_started_event_has_an_empty_not_before(
    fleet: TemporaryFleet, version: str
) -> None:
    vm = announced(fleet, "Reboot")
    vm.approve(vm.event()["EventId"])
    event = vm.event(version)
    assert (event["EventStatus"], event["NotBefore"]) == ("Started", "")


@fact("5.7e")
@pytest.mark.parametrize("version", VERSIONS)
def test_not_before_is_always_a_string(notified_vm: VM, version: str) -> None:
    for event in notified_vm.events(version):
        assert isinstance(event["NotBefore"], str)


@fact("5.7f")
@pytest.mark.parametrize("type", TYPES)
def test_nothing_starts_before_not_before(
    fleet: TemporaryFleet, clock: Clock, type: str
) -> None:
    vm = announced(fleet, type, notice_seconds=1800)
    clock.advance(seconds=1799)
    assert vm.statuses == ["Scheduled"]
    clock.advance(seconds=1)
    assert vm.statuses == ["Started"]


# --- Description -------------------------------------------------------------


@fact("5.8a")
@pytest.mark.parametrize("type", TYPES)
def test_a_description_is_one_of_the_known_strings(
    fleet: TemporaryFleet, type: str
) -> None:
    assert announced(fleet, type).event()["Description"] in KNOWN


@fact("5.8b")
def test_a_preempt_has_no_description(fleet: TemporaryFleet) -> None:
    assert announced(fleet, "Preempt").event()["Description"] == ""


@fact("5.8d")
def test_a_terminate_has_no_description(fleet: TemporaryFleet) -> None:
    assert announced(fleet, "Terminate").event()["Description"] == ""


@fact("5.8e")
@pytest.mark.parametrize("type", TYPES[:3])
def test_planned_maintenance_is_described_as_such(
    fleet: TemporaryFleet, type: str
) -> None:
    assert announced(fleet, type).event()["Description"] == MAINTENANCE


@fact("5.8e")
@pytest.mark.parametrize("type", TYPES[:3])
def test_an_emergency_is_described_as_a_repair(
    fleet: TemporaryFleet, type: str
) -> None:
    vm = announced(fleet, type, emergency=True, reason="smoke")
    assert vm.event()["Description"] == REPAIR


@fact("5.8f")
@pytest.mark.parametrize(
    ("type", "text"), [("Reboot", RESTART), ("Redeploy", REDEPLOY)]
)
def test_a_user_initiated_event_is_described_as_such(
    fleet: TemporaryFleet, type: str, text: str
) -> None:
    assert of_user(fleet, type).event()["Description"] == text


@fact("5.8h")
def test_a_live_migration_has_its_own_description_and_duration(
    fleet: TemporaryFleet,
) -> None:
    event = announced(fleet, "Freeze", live_migration=True).event()
    assert (event["Description"], event["DurationInSeconds"]) == (LIVE_MIGRATION, 5)


# --- EventSource -------------------------------------------------------------


@fact("5.9a")
def test_planned_maintenance_has_source_platform(fleet: TemporaryFleet) -> None:
    assert announced(fleet, "Reboot").event()["EventSource"] == "Platform"


@fact("5.9a")
def test_a_user_initiated_event_has_source_user(fleet: TemporaryFleet) -> None:
    assert of_user(fleet, "Reboot").event()["EventSource"] == "User"


@fact("5.9b")
def test_a_preempt_has_source_platform(fleet: TemporaryFleet) -> None:
    assert announced(fleet, "Preempt").event()["EventSource"] == "Platform"


@fact("5.9c")
def test_a_terminate_has_source_user(fleet: TemporaryFleet) -> None:
    assert announced(fleet, "Terminate").event()["EventSource"] == "User"


# --- DurationInSeconds -------------------------------------------------------


@fact("5.10a")
@pytest.mark.parametrize("seconds", [-1, 0, 9, 30])
def test_an_event_shows_the_announced_duration(
    fleet: TemporaryFleet, seconds: int
) -> None:
    vm = announced(fleet, "Freeze", duration_seconds=seconds)
    assert vm.event()["DurationInSeconds"] == seconds


@fact("5.10b")
@pytest.mark.parametrize("type", ["Reboot", "Redeploy"])
def test_the_duration_of_a_restart_is_unknown(fleet: TemporaryFleet, type: str) -> None:
    assert announced(fleet, type).event()["DurationInSeconds"] == -1


@fact("5.10c")
def test_a_freeze_has_a_duration_in_seconds(fleet: TemporaryFleet) -> None:
    seconds = announced(fleet, "Freeze").event()["DurationInSeconds"]
    assert 0 < seconds <= 30, f"expected 1 to 30 seconds, seen {seconds}"


@fact("5.10d")
@pytest.mark.parametrize("type", ["Preempt", "Terminate"])
def test_a_preempt_or_terminate_has_no_duration(
    fleet: TemporaryFleet, type: str
) -> None:
    assert announced(fleet, type).event()["DurationInSeconds"] == -1
