"""The /metadata/instance tree in each version."""

from collections.abc import Iterator, Mapping

import pytest

from forewarn.protocol.instance import Node, compute
from forewarn.protocol.versions import INSTANCE_VERSIONS

#: Fields that each version adds to its predecessor, listed by hand.
NEW = {
    "2017-03-01": "location name offer osType platformFaultDomain platformUpdateDomain"
    " publisher sku version vmId vmSize",
    "2017-08-01": "placementGroupId resourceGroupName subscriptionId tags",
    "2017-12-01": "vmScaleSetName zone",
    "2018-04-02": "plan.name plan.product plan.publisher publicKeys[]",
    "2018-10-01": "azEnvironment provider",
    "2019-02-01": "customData",
    "2019-03-11": "resourceId",
    "2019-06-01": "storageProfile.dataDisks[]"
    " storageProfile.imageReference.id storageProfile.imageReference.offer"
    " storageProfile.imageReference.publisher storageProfile.imageReference.sku"
    " storageProfile.imageReference.version"
    " storageProfile.osDisk.caching storageProfile.osDisk.createOption"
    " storageProfile.osDisk.diffDiskSettings.option storageProfile.osDisk.diskSizeGB"
    " storageProfile.osDisk.encryptionSettings.enabled storageProfile.osDisk.image.uri"
    " storageProfile.osDisk.managedDisk.id"
    " storageProfile.osDisk.managedDisk.storageAccountType storageProfile.osDisk.name"
    " storageProfile.osDisk.osType storageProfile.osDisk.vhd.uri"
    " storageProfile.osDisk.writeAcceleratorEnabled",
    "2019-06-04": "tagsList[]",
    "2020-06-01": "isHostCompatibilityLayerVm securityProfile.secureBootEnabled"
    " securityProfile.virtualTpmEnabled",
    "2020-07-15": "osProfile.adminUsername osProfile.computerName",
    "2020-09-01": "licenseType",
    "2020-10-01": "osProfile.disablePasswordAuthentication",
    "2020-12-01": "evictionPolicy priority",
    "2021-01-01": "userData",
    "2021-02-01": "storageProfile.resourceDisk.size",
    "2021-03-01": "extendedLocation.name extendedLocation.type"
    " virtualMachineScaleSet.id",
    "2021-10-01": "platformSubFaultDomain",
    "2021-11-01": "additionalCapabilities.hibernationEnabled"
    " securityProfile.encryptionAtHost"
    " storageProfile.osDisk.encryptionSettings.diskEncryptionKey.secretUrl"
    " storageProfile.osDisk.encryptionSettings.diskEncryptionKey.sourceVault.id"
    " storageProfile.osDisk.encryptionSettings.keyEncryptionKey.keyUrl"
    " storageProfile.osDisk.encryptionSettings.keyEncryptionKey.sourceVault.id",
    "2021-11-15": "host.id hostGroup.id",
    "2021-12-13": "securityProfile.securityType",
    "2023-07-01": "storageProfile.imageReference.communityGalleryImageId"
    " storageProfile.imageReference.exactVersion"
    " storageProfile.imageReference.sharedGalleryImageId",
    "2023-11-15": "physicalZone",
}


def paths(node: Node, path: str = "") -> Iterator[str]:
    """Yield the path of every value; paths of lists end with brackets."""
    if isinstance(node, Mapping):
        for name, inner in node.items():
            yield from paths(inner, f"{path}.{name}" if path else name)
    else:
        yield f"{path}[]" if isinstance(node, list) else path


def empty(version: str) -> set[str]:
    return set(paths(compute({}, version)))


def objects(node: Node) -> Iterator[Mapping[str, Node]]:
    if isinstance(node, Mapping):
        yield node
        for inner in node.values():
            yield from objects(inner)


@pytest.mark.parametrize("number", range(len(INSTANCE_VERSIONS)))
def test_each_version_adds_the_listed_fields_and_removes_none(number: int) -> None:
    version = INSTANCE_VERSIONS[number]
    before = empty(INSTANCE_VERSIONS[number - 1]) if number else set()
    assert empty(version) == before | set(NEW.get(version, "").split())
    assert before.isdisjoint(NEW.get(version, "").split())


@pytest.mark.parametrize("version", INSTANCE_VERSIONS)
def test_fields_are_sorted_by_name(version: str) -> None:
    for node in objects(compute({}, version)):
        assert [*node] == sorted(node)


def test_a_value_is_put_in_its_place() -> None:
    values: dict[str, Node] = {"name": "a", "osProfile": {"computerName": "b"}}
    tree = compute(values, "2020-07-15")
    assert (tree["name"], tree["zone"]) == ("a", "")
    assert tree["osProfile"] == {"adminUsername": "", "computerName": "b"}


def test_a_value_unknown_to_the_version_is_omitted() -> None:
    tree = compute({"zone": "1", "osProfile": {"computerName": "b"}}, "2017-10-01")
    assert tree.keys().isdisjoint({"zone", "osProfile"})


def test_values_do_not_leak_into_other_responses() -> None:
    compute({"name": "a", "osProfile": {"computerName": "b"}}, "2021-02-01")
    tree = compute({}, "2021-02-01")
    assert tree["name"] == ""
    assert tree["osProfile"] == dict.fromkeys(
        ("adminUsername", "computerName", "disablePasswordAuthentication"), ""
    )
