"""Parser of ARM paths below /subscriptions."""

import pytest

from forewarn.server.arm import paths
from forewarn.server.arm.app import ROUTES, find_route
from forewarn.server.arm.paths import ArmPath
from forewarn.server.error_responses import is_arm

GROUP = "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute"
ALL = "/subscriptions/s/providers/Microsoft.Compute"
EVENTS = "providers/Microsoft.Maintenance/scheduledevents"
MEMBERS = f"{GROUP}/virtualMachineScaleSets/n/virtualMachines"

PLACES = {
    f"{ALL}/virtualMachines": paths.ALL_VMS,
    f"{ALL}/locations/l/operations/o": paths.OPERATION,
    f"{GROUP}/virtualMachines": paths.VMS,
    f"{GROUP}/virtualMachines/v": paths.VM,
    f"{GROUP}/virtualMachines/v/instanceView": f"{paths.VM}/instanceview",
    f"{GROUP}/virtualMachines/v/restart": f"{paths.VM}/{{action}}",
    f"{GROUP}/virtualMachines/v/{EVENTS}": paths.EVENTS,
    f"{GROUP}/virtualMachines/v/{EVENTS}/e/acknowledge": paths.EVENT,
    f"{GROUP}/virtualMachineScaleSets/n": paths.SCALE_SET,
    f"{GROUP}/virtualMachineScaleSets/n/restart": f"{paths.SCALE_SET}/{{action}}",
    MEMBERS: f"{paths.SCALE_SET}/virtualmachines",
    f"{MEMBERS}/3": paths.MEMBER,
    f"{MEMBERS}/3/reimage": f"{paths.MEMBER}/{{action}}",
    f"{MEMBERS}/3/instanceView": f"{paths.MEMBER}/instanceview",
    f"{GROUP}/virtualMachineScaleSets/n/{EVENTS}": paths.EVENTS,
    f"{GROUP}/availabilitySets/n": paths.AVAILABILITY_SET,
    f"{GROUP}/availabilitySets/n/{EVENTS}/e/acknowledge": paths.EVENT,
}


def parse(path: str) -> ArmPath | None:
    route = find_route(path)
    return None if route is None else route[0]


@pytest.mark.parametrize("path", PLACES)
@pytest.mark.parametrize("written", [str, str.lower, str.upper])
def test_paths_are_case_insensitive(path: str, written: type[str]) -> None:
    route = find_route(written(path))
    assert route is not None
    assert route[1] is ROUTES[PLACES[path]]


def test_names_keep_their_case() -> None:
    path = "/SUBSCRIPTIONS/Sub/RESOURCEGROUPS/Rg/Providers/microsoft.compute"
    assert parse(f"{path}/virtualmachines/Web-0/ReStart") == ArmPath(
        subscription="Sub", resource_group="Rg", vm="Web-0", action="ReStart"
    )


def test_resource_and_event_of_an_approval_are_parsed() -> None:
    assert parse(f"{GROUP}/availabilitySets/n/{EVENTS}/e/acknowledge") == ArmPath(
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
