"""Paths below /subscriptions.

Fixed segments are case-insensitive; names are used as written.
"""

from dataclasses import dataclass

from forewarn.server.error_responses import ARM_ROOT


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmPath:
    """A parsed path; fields that the path does not contain are empty."""

    subscription: str
    resource_group: str = ""
    vm: str = ""
    group: str = ""
    instance: str = ""
    action: str = ""
    location: str = ""
    operation: str = ""
    type: str = ""
    resource: str = ""
    event: str = ""


_COMPUTE = "providers/microsoft.compute"
_ALL = f"{ARM_ROOT}/{{subscription}}/{_COMPUTE}"
_SOME = f"{ARM_ROOT}/{{subscription}}/resourcegroups/{{resource_group}}/{_COMPUTE}"
_EVENTS = f"{_SOME}/{{type}}/{{resource}}/providers/microsoft.maintenance"

#: The VMs in a subscription or resource group.
ALL_VMS = f"{_ALL}/virtualmachines"
VMS = f"{_SOME}/virtualmachines"
#: A VM, whether or not it is in a set.
VM = f"{VMS}/{{vm}}"
SCALE_SET = f"{_SOME}/virtualmachinescalesets/{{group}}"
#: A VM in a scale set.
MEMBER = f"{SCALE_SET}/virtualmachines/{{instance}}"
AVAILABILITY_SET = f"{_SOME}/availabilitysets/{{group}}"
#: A long-running operation.
OPERATION = f"{_ALL}/locations/{{location}}/operations/{{operation}}"
#: The events that a resource sees, and a single event.
EVENTS = f"{_EVENTS}/scheduledevents"
EVENT = f"{EVENTS}/{{event}}/acknowledge"


def parse(pattern: str, path: str) -> ArmPath | None:
    """Parse `path`; return None if it does not match `pattern`."""
    expected = pattern.split("/")
    segments = [segment for segment in path.split("/") if segment]
    if len(expected) != len(segments):
        return None
    names = {}
    for part, segment in zip(expected, segments, strict=True):
        if part.startswith("{"):
            names[part.strip("{}")] = segment
        elif part != segment.lower():
            return None
    return ArmPath(**names)
