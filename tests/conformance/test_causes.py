"""Operations on VMs and failures of hosts, as VMs see them (5.8, 6)."""

from datetime import timedelta
from email.utils import parsedate_to_datetime

import pytest
from tests.conformance.control import Clock
from tests.conformance.facts import fact
from tests.conformance.temporary_fleet import TemporaryFleet


@fact("5.8g")
@pytest.mark.parametrize(
    ("what", "text"),
    [
        ("failed", "Virtual machine has encountered a failure."),
        ("degraded", "Host server is undergoing an emergency repair."),
    ],
)
def test_a_failed_or_degraded_host_has_its_own_description(
    fleet: TemporaryFleet, what: str, text: str
) -> None:
    host = fleet.host()
    vm = fleet.add_standalone_vm(host=host)
    fleet.report_host(host, what)
    assert vm.event()["Description"] == text


@fact("5.8g")
@fact("6.15b")
@pytest.mark.parametrize("source", ["User", "Platform"])
def test_a_reimage_is_a_reboot_without_a_description(
    fleet: TemporaryFleet, source: str
) -> None:
    vm = fleet.add_standalone_vm()
    vm.document()  # enables Scheduled Events
    fleet.operate(vm, "reimage", source=source)
    event = vm.event()
    assert (event["EventType"], event["Description"]) == ("Reboot", "")
    assert (event["EventStatus"], event["EventSource"]) == ("Scheduled", source)


@fact("6.2a")
def test_a_host_predicted_to_fail_has_a_week_of_notice(
    fleet: TemporaryFleet, clock: Clock
) -> None:
    host = fleet.host()
    vm = fleet.add_standalone_vm(host=host)
    fleet.report_host(host, "degraded")
    event = vm.event()
    left = parsedate_to_datetime(event["NotBefore"]) - clock.now
    assert event["EventType"] == "Redeploy"
    assert timedelta(0) <= left - timedelta(days=7) <= timedelta(seconds=1)


@fact("6.3b")
def test_vms_on_a_failed_host_are_rebooted(fleet: TemporaryFleet) -> None:
    host = fleet.host()
    vm = fleet.add_standalone_vm(host=host)
    fleet.report_host(host, "failed")
    event = vm.event()
    assert (event["EventType"], event["EventStatus"]) == ("Reboot", "Started")
    assert event["NotBefore"] == ""


@fact("6.14a")
def test_a_vm_is_deleted_with_notice_if_its_scale_set_enables_it(
    fleet: TemporaryFleet,
) -> None:
    vm, _ = fleet.group(kind="scale-set", terminate_notice_seconds=600)
    fleet.operate(vm, "delete")
    event = vm.event()
    assert (event["EventType"], event["EventStatus"]) == ("Terminate", "Scheduled")


@fact("6.14a")
@pytest.mark.parametrize(
    ("notice", "spot"), [(None, False), (600, True)], ids=["not enabled", "spot"]
)
def test_other_vms_are_deleted_without_notice(
    fleet: TemporaryFleet, notice: int | None, spot: bool
) -> None:
    vm, other = fleet.group(
        kind="scale-set", terminate_notice_seconds=notice, vms={"spot": spot}
    )
    fleet.operate(vm, "delete")
    assert other.statuses == ["Started"]
