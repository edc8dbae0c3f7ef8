"""Parser of ARM paths below /subscriptions."""

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
def test_paths_are_case_insensitive(path: str, written: type[str]) -> None:
    parsed = parse(written(path))
    assert parsed is not None
    assert parsed.target is PLACES[path]


def test_names_keep_their_case() -> None:
    path = "/SUBSCRIPTIONS/Sub/RESOURCEGROUPS/Rg/Providers/microsoft.compute"
    assert parse(f"{path}/virtualmachines/Web-0/ReStart") == ArmPath(
        target=ArmResource.VM_ACTION,
        subscription="Sub",
        resource_group="Rg",
        vm="Web-0",
        action="ReStart",
    )


def test_resource_and_event_of_an_approval_are_parsed() -> None:
    assert parse(f"{GROUP}/availabilitySets/n/{EVENTS}/e/acknowledge") == ArmPath(
        target=ArmResource.EVENT,
        subscription="s",
        resource_group="g",
        type="availabilitySets",
        resource="n",
        event="e",
    )


def test_empty_segments_are_ignored() -> None:
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
def test_other_paths_are_not_parsed(path: str) -> None:
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
def test_arm_paths_are_recognized_in_any_spelling(path: str, is_below: bool) -> None:
    assert is_arm(path) is is_below
