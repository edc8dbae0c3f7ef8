"""What the metadata service knows of the VM that asks."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from forewarn.errors import Malformed


@dataclass(frozen=True, slots=True, kw_only=True)
class Instance:
    """This VM; a text is empty where the service does not tell.

    `raw` keeps all that was received.
    """

    name: str  # what events call it
    vm_id: str = ""
    computer_name: str = ""  # the name that it was given as a host
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


#: Where each field stands in `compute`.
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
    """Read the answer of /metadata/instance; only the name has to be there."""
    compute = _at(plain, "compute")
    name = _text(_at(compute, "name"))
    if not isinstance(plain, dict) or not name:
        raise Malformed("it does not tell the name of this VM (compute.name)")
    told = {field: _text(_at(compute, *place)) for field, place in _PLACES.items()}
    return Instance(
        name=name,
        tags=_tags(compute),
        addresses=tuple(_addresses(plain)),
        raw=plain,
        **told,
    )


def _at(plain: object, *path: str) -> object:
    for name in path:
        plain = plain.get(name) if isinstance(plain, dict) else None
    return plain


def _text(value: object) -> str:
    return "" if value is None or isinstance(value, dict | list) else str(value)


def _tags(compute: object) -> Mapping[str, str]:
    """Read the list of tags; versions before 2019-06-04 have only one line of them."""
    listed = _at(compute, "tagsList")
    if isinstance(listed, list):
        pairs = [(_text(_at(each, "name")), _at(each, "value")) for each in listed]
        return {name: _text(value) for name, value in pairs if name}
    line = _text(_at(compute, "tags"))
    split = [each.partition(":") for each in line.split(";") if each]
    return {name: value for name, _, value in split}


def _addresses(plain: object) -> list[str]:
    cards = _list(_at(plain, "network", "interface"))
    found = [
        _text(_at(each, "privateIpAddress"))
        for family in ("ipv4", "ipv6")
        for card in cards
        for each in _list(_at(card, family, "ipAddress"))
    ]
    return [address for address in found if address]


def _list(value: object) -> list[object]:
    return value if isinstance(value, list) else []
