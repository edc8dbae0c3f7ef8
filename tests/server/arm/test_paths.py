"""What paths below /subscriptions name."""

import pytest

from forewarn.server.arm.paths import ArmPath, ArmResource, parse
from forewarn.server.error_responses import is_arm

GROUP = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute"
ALL = "/subscriptions/s/providers/Microsoft.Compute"
EVENTS = "providers/Microsoft.Maintenance/scheduledevents"

PLACES = {
    f"{ALL}/virtualMachines": ArmResource.VMS,
    f"{ALL}/locations/l/operations/o": ArmResource.OPERATION,
    f"{GROUP}/virtualMachines": ArmResource.VMS,
    f"{GROUP}/virtualMachines/v": ArmResource.VM,
    f"{GROUP}/virtualMachines/v/instanceView": ArmResource.VM_VIEW,
    f"{GROUP}/virtualMachines/v/restart": ArmResource.VM_ACTION,
    f"{GROUP}/virtualMachines/v/{EVENTS}": ArmResource.EVENTS,
    f"{GROUP}/virtualMachines/v/{EVENTS}/e/acknowledge": ArmResource.EVENT,
    f"{GROUP}/virtualMachineScaleSets/n": ArmResource.SCALE_SET,
    f"{GROUP}/virtualMachineScaleSets/n/restart": ArmResource.SCALE_SET_ACTION,
    f"{GROUP}/virtualMachineScaleSets/n/virtualMachines": ArmResource.MEMBERS,
    f"{GROUP}/virtualMachineScaleSets/n/virtualMachines/3": ArmResource.MEMBER,
    f"{GROUP}/virtualMachineScaleSets/n/virtualMachines/3/reimage": (
        ArmResource.MEMBER_ACTION
    ),
    f"{GROUP}/virtualMachineScaleSets/n/virtualMachines/3/instanceView": (
        ArmResource.MEMBER_VIEW
    ),
    f"{GROUP}/virtualMachineScaleSets/n/{EVENTS}": ArmResource.EVENTS,
    f"{GROUP}/availabilitySets/n": ArmResource.AVAILABILITY_SET,
    f"{GROUP}/availabilitySets/n/{EVENTS}/e/acknowledge": ArmResource.EVENT,
}


@pytest.mark.parametrize("path", PLACES)
@pytest.mark.parametrize("written", [str, str.lower, str.upper])
def test_a_place_is_the_same_in_any_case(path: str, written: type[str]) -> None:
    found = parse(written(path))
    assert found is not None
    assert found.target is PLACES[path]


def test_names_are_taken_as_they_are_written() -> None:
    path = "/SUBSCRIPTIONS/Sub/RESOURCEGROUPS/Rg/Providers/microsoft.compute"
    assert parse(f"{path}/virtualmachines/Web-0/ReStart") == ArmPath(
        target=ArmResource.VM_ACTION,
        subscription="Sub",
        resource_group="Rg",
        vm="Web-0",
        action="ReStart",
    )


def test_the_resource_and_the_event_to_approve_are_told_apart() -> None:
    assert parse(f"{GROUP}/availabilitySets/n/{EVENTS}/e/acknowledge") == ArmPath(
        target=ArmResource.EVENT,
        subscription="s",
        resource_group="g",
        type="availabilitySets",
        resource="n",
        event="e",
    )


def test_empty_segments_do_not_count() -> None:
    assert parse(f"/{GROUP}//virtualMachines/v/") == parse(f"{GROUP}/virtualMachines/v")


@pytest.mark.parametrize(
    "path",
    [
        "/subscriptions",
        "/subscriptions/s",
        "/subscriptions/s/resourceGroups/g",
        f"{GROUP}/disks/d",
        f"{GROUP}/virtualMachines/v/restart/again",
        f"{GROUP}/virtualMachines/v/{EVENTS}/e",
        f"{GROUP}/virtualMachines/v/{EVENTS}/e/approve",
        f"{ALL}/virtualMachines/v",
        GROUP.replace("Compute", "Storage") + "/virtualMachines",
    ],
)
def test_other_paths_lead_nowhere(path: str) -> None:
    assert parse(path) is None


@pytest.mark.parametrize(
    ("path", "is_below"),
    {
        "/subscriptions": True,
        "/subscriptions/": True,
        "/Subscriptions/s": True,
        "//subscriptions/s": True,
        "///SUBSCRIPTIONS//s": True,
        "/": False,
        "": False,
        "/v1/subscriptions": False,
        "/subscription": False,
        "/subscriptionsx/s": False,
    }.items(),
)
def test_what_lies_below_is_told_however_it_is_written(
    path: str, is_below: bool
) -> None:
    assert is_arm(path) is is_below
