"""Fields of /metadata/instance, with the api-version that introduced each."""

from collections.abc import Mapping
from typing import TypeAlias

from forewarn.protocol.versions import INSTANCE_VERSIONS

#: A value, an object or a list in the tree.
Node: TypeAlias = "str | dict[str, Node] | list[Node]"
#: The same tree, with first versions instead of values; a list contains only its own.
Shape: TypeAlias = "str | list[str] | dict[str, Shape]"

#: The table of `compute` in the documentation, sorted by name like real responses.
COMPUTE: Mapping[str, Shape] = {
    "additionalCapabilities": {"hibernationEnabled": "2021-11-01"},
    "azEnvironment": "2018-10-01",
    "customData": "2019-02-01",
    "evictionPolicy": "2020-12-01",
    "extendedLocation": {"name": "2021-03-01", "type": "2021-03-01"},
    "host": {"id": "2021-11-15"},
    "hostGroup": {"id": "2021-11-15"},
    "isHostCompatibilityLayerVm": "2020-06-01",
    "licenseType": "2020-09-01",
    "location": "2017-04-02",
    "name": "2017-04-02",
    "offer": "2017-04-02",
    "osProfile": {
        "adminUsername": "2020-07-15",
        "computerName": "2020-07-15",
        "disablePasswordAuthentication": "2020-10-01",
    },
    "osType": "2017-04-02",
    "physicalZone": "2023-11-15",
    "placementGroupId": "2017-08-01",
    "plan": {
        "name": "2018-04-02",
        "product": "2018-04-02",
        "publisher": "2018-04-02",
    },
    "platformFaultDomain": "2017-04-02",
    "platformSubFaultDomain": "2021-10-01",
    "platformUpdateDomain": "2017-04-02",
    "priority": "2020-12-01",
    "provider": "2018-10-01",
    "publicKeys": ["2018-04-02"],
    "publisher": "2017-04-02",
    "resourceGroupName": "2017-08-01",
    "resourceId": "2019-03-11",
    "securityProfile": {
        "encryptionAtHost": "2021-11-01",
        "secureBootEnabled": "2020-06-01",
        "securityType": "2021-12-13",
        "virtualTpmEnabled": "2020-06-01",
    },
    "sku": "2017-04-02",
    "storageProfile": {
        "dataDisks": ["2019-06-01"],
        "imageReference": {
            "communityGalleryImageId": "2023-07-01",
            "exactVersion": "2023-07-01",
            "id": "2019-06-01",
            "offer": "2019-06-01",
            "publisher": "2019-06-01",
            "sharedGalleryImageId": "2023-07-01",
            "sku": "2019-06-01",
            "version": "2019-06-01",
        },
        # The table has versions for only two keys; the rest is from 2019-06-01 samples.
        "osDisk": {
            "caching": "2019-06-01",
            "createOption": "2019-06-01",
            "diffDiskSettings": {"option": "2019-06-01"},
            "diskSizeGB": "2019-06-01",
            "encryptionSettings": {
                "diskEncryptionKey": {
                    "secretUrl": "2021-11-01",
                    "sourceVault": {"id": "2021-11-01"},
                },
                "enabled": "2019-06-01",
                "keyEncryptionKey": {
                    "keyUrl": "2021-11-01",
                    "sourceVault": {"id": "2021-11-01"},
                },
            },
            "image": {"uri": "2019-06-01"},
            "managedDisk": {"id": "2019-06-01", "storageAccountType": "2019-06-01"},
            "name": "2019-06-01",
            "osType": "2019-06-01",
            "vhd": {"uri": "2019-06-01"},
            "writeAcceleratorEnabled": "2019-06-01",
        },
        "resourceDisk": {"size": "2021-02-01"},
    },
    "subscriptionId": "2017-08-01",
    "tags": "2017-08-01",
    "tagsList": ["2019-06-04"],
    "userData": "2021-01-01",
    "version": "2017-04-02",
    "virtualMachineScaleSet": {"id": "2021-03-01"},
    "vmId": "2017-04-02",
    "vmScaleSetName": "2017-12-01",
    "vmSize": "2017-04-02",
    "zone": "2017-12-01",
}

_FIRST = "2017-04-02"  # the table's first; we assume that 2017-03-01 is equal


def compute(values: Mapping[str, Node], version: str) -> dict[str, Node]:
    """Return `values` in the form of `version`; fields without values are empty."""
    return _filled(_EMPTY[version], values)


def _filled(empty: Mapping[str, Node], values: Mapping[str, Node]) -> dict[str, Node]:
    filled = dict(empty)
    for name in filled.keys() & values.keys():
        inner, value = empty[name], values[name]
        if isinstance(inner, dict) and isinstance(value, dict):
            value = _filled(inner, value)
        filled[name] = value
    return filled


def _blank(shape: Mapping[str, Shape], version: str) -> dict[str, Node]:
    """Return every field that `version` has, with empty values."""
    blank: dict[str, Node] = {}
    for name, inner in shape.items():
        if isinstance(inner, dict):
            if children := _blank(inner, version):
                blank[name] = children
        elif isinstance(inner, list):
            if inner[0] <= version:
                blank[name] = []
        elif inner <= version:
            blank[name] = ""
    return blank


_EMPTY: Mapping[str, Mapping[str, Node]] = {
    version: _blank(COMPUTE, max(version, _FIRST)) for version in INSTANCE_VERSIONS
}
