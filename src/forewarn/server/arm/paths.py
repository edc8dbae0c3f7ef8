"""Paths below /subscriptions.

Fixed segments match in any case; names are taken as they are written.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import Enum, auto

from forewarn.server.error_responses import ARM_ROOT


class ArmResource(Enum):
    """What a path names."""

    #: The VMs of a subscription, or of a resource group.
    VMS = auto()
    #: A VM, whether in a set or not.
    VM = auto()
    #: The status of a VM.
    VM_VIEW = auto()
    #: An action on a VM.
    VM_ACTION = auto()
    #: The VMs of a scale set.
    MEMBERS = auto()
    #: A VM of a scale set.
    MEMBER = auto()
    #: The status of a VM of a scale set.
    MEMBER_VIEW = auto()
    #: An action on a VM of a scale set.
    MEMBER_ACTION = auto()
    #: A scale set.
    SCALE_SET = auto()
    #: An action on some VMs of a scale set.
    SCALE_SET_ACTION = auto()
    #: An availability set.
    AVAILABILITY_SET = auto()
    #: A long-running operation.
    OPERATION = auto()
    #: One event that a resource sees.
    EVENT = auto()
    #: Some of the events that a resource sees.
    EVENTS = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmPath:
    """A parsed path; fields that it does not name are empty."""

    target: ArmResource
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
_VM = f"{_SOME}/virtualmachines/{{vm}}"
_SET = f"{_SOME}/virtualmachinescalesets/{{group}}"
_MEMBER = f"{_SET}/virtualmachines/{{instance}}"
_EVENTS = f"{_SOME}/{{type}}/{{resource}}/providers/microsoft.maintenance"

#: The first match applies: fixed segments come before named ones.
_PATTERNS: Sequence[tuple[str, ArmResource]] = (
    (f"{_ALL}/virtualmachines", ArmResource.VMS),
    (f"{_ALL}/locations/{{location}}/operations/{{operation}}", ArmResource.OPERATION),
    (f"{_SOME}/virtualmachines", ArmResource.VMS),
    (_VM, ArmResource.VM),
    (f"{_VM}/instanceview", ArmResource.VM_VIEW),
    (f"{_VM}/{{action}}", ArmResource.VM_ACTION),
    (_SET, ArmResource.SCALE_SET),
    (f"{_SET}/virtualmachines", ArmResource.MEMBERS),
    (f"{_SET}/{{action}}", ArmResource.SCALE_SET_ACTION),
    (_MEMBER, ArmResource.MEMBER),
    (f"{_MEMBER}/instanceview", ArmResource.MEMBER_VIEW),
    (f"{_MEMBER}/{{action}}", ArmResource.MEMBER_ACTION),
    (f"{_SOME}/availabilitysets/{{group}}", ArmResource.AVAILABILITY_SET),
    (f"{_EVENTS}/scheduledevents", ArmResource.EVENTS),
    (f"{_EVENTS}/scheduledevents/{{event}}/acknowledge", ArmResource.EVENT),
)
_ROUTES = tuple((text.split("/"), target) for text, target in _PATTERNS)


def parse(path: str) -> ArmPath | None:
    """Parse `path`; None if it leads nowhere."""
    segments = _segments(path)
    for pattern, target in _ROUTES:
        names = _match(pattern, segments)
        if names is not None:
            return ArmPath(target=target, **names)
    return None


def _segments(path: str) -> Sequence[str]:
    return [segment for segment in path.split("/") if segment]


def _match(pattern: Sequence[str], segments: Sequence[str]) -> Mapping[str, str] | None:
    if len(pattern) != len(segments):
        return None
    names = {}
    for expected, segment in zip(pattern, segments, strict=True):
        if expected.startswith("{"):
            names[expected.strip("{}")] = segment
        elif expected != segment.lower():
            return None
    return names
