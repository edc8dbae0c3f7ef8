"""Instance metadata of the VM that sends the request."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from forewarn.errors import Malformed


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """This VM's metadata; fields that the service does not report are empty.

    `raw` keeps everything that was received.
    """

    name: str  # as in the resources of events
    vm_id: str = ""
    computer_name: str = ""  # its host name
    location: str = ""
    zone: str = ""
    resource_group: str = ""
    subscription: str = ""
    resource_id: str = ""
    scale_set: str = ""
    placement_group: str = ""
    update_domain: str = ""
    fault_domain: str = ""
    size: str = ""
    priority: str = ""  # Spot, Regular
    tags: Mapping[str, str] = field(default_factory=dict, hash=False)
    addresses: tuple[str, ...] = ()  # private ones, IPv4 before IPv6
    raw: Mapping[str, object] = field(default_factory=dict, compare=False, repr=False)


#: Path of each field within `compute`.
_PLACES: Mapping[str, tuple[str, ...]] = {
    "vm_id": ("vmId",),
    "computer_name": ("osProfile", "computerName"),
    "location": ("location",),
    "zone": ("zone",),
    "resource_group": ("resourceGroupName",),
    "subscription": ("subscriptionId",),
    "resource_id": ("resourceId",),
    "scale_set": ("vmScaleSetName",),
    "placement_group": ("placementGroupId",),
    "update_domain": ("platformUpdateDomain",),
    "fault_domain": ("platformFaultDomain",),
    "size": ("vmSize",),
    "priority": ("priority",),
}


def instance_from(plain: object) -> Instance:
    """Parse the response of /metadata/instance; only the name is required."""
    compute = _at(plain, "compute")
    name = _text(_at(compute, "name"))
    if not isinstance(plain, dict) or not name:
        raise Malformed("it does not tell the name of this VM (compute.name)")
    texts = {field: _text(_at(compute, *place)) for field, place in _PLACES.items()}
    return Instance(
        name=name,
        tags=_tags(compute),
        addresses=tuple(_addresses(plain)),
        raw=plain,
        **texts,
    )


def _at(plain: object, *path: str) -> object:
    for name in path:
        plain = plain.get(name) if isinstance(plain, dict) else None
    return plain


def _text(value: object) -> str:
    return "" if value is None or isinstance(value, dict | list) else str(value)


def _tags(compute: object) -> Mapping[str, str]:
    """Parse the list of tags; api-versions before 2019-06-04 have a string instead."""
    listed = _at(compute, "tagsList")
    if isinstance(listed, list):
        pairs = [(_text(_at(tag, "name")), _at(tag, "value")) for tag in listed]
        return {name: _text(value) for name, value in pairs if name}
    line = _text(_at(compute, "tags"))
    split = [tag.partition(":") for tag in line.split(";") if tag]
    return {name: value for name, _, value in split}


def _addresses(plain: object) -> list[str]:
    cards = _list(_at(plain, "network", "interface"))
    addresses = [
        _text(_at(entry, "privateIpAddress"))
        for family in ("ipv4", "ipv6")
        for card in cards
        for entry in _list(_at(card, family, "ipAddress"))
    ]
    return [address for address in addresses if address]


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
