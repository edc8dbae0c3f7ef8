"""Instance metadata of this VM."""

import json
from pathlib import Path

import pytest

from forewarn.client.responses import Instance, instance_from
from forewarn.errors import Malformed

GOLDEN = Path(__file__).parents[1] / "golden"


def golden(version: str) -> Instance:
    return instance_from(
        json.loads((GOLDEN / f"instance_{version}_scale_set.json").read_text())
    )


def test_a_recorded_instance_is_read() -> None:
    instance = golden("2021-02-01")
    assert instance.name == "aks-nodepool1-22790412-vmss_0"
    assert instance.computer_name == "aks-nodepool1-22790412-vmss000000"
    assert instance.scale_set == "aks-nodepool1-22790412-vmss"
    assert (instance.location, instance.zone) == ("SwedenCentral", "")
    assert (instance.update_domain, instance.fault_domain) == ("0", "0")
    assert instance.addresses == ("10.224.0.5",)
    assert instance.tags["aks-managed-orchestrator"] == "Kubernetes:1.30.7"
    assert "compute" in instance.raw


@pytest.mark.parametrize("version", ["2017-08-01", "2021-02-01", "2021-12-13"])
def test_every_recorded_version_has_a_name(version: str) -> None:
    assert golden(version).name


def test_older_versions_have_tags_in_one_line() -> None:
    instance = instance_from({"compute": {"name": "a", "tags": "x:1;y:2:3;z"}})
    assert instance.tags == {"x": "1", "y": "2:3", "z": ""}


def test_only_the_name_is_required() -> None:
    plain = {"compute": {"name": "a", "osProfile": None, "tagsList": [1, {}]}}
    assert instance_from(plain) == Instance(name="a")


@pytest.mark.parametrize("plain", [None, [], {}, {"compute": 1}, {"compute": {}}])
def test_an_instance_without_a_name_is_malformed(plain: object) -> None:
    with pytest.raises(Malformed):
        instance_from(plain)


def test_an_instance_is_hashable() -> None:
    tagged = Instance(name="a", tags={"x": "1"})
    assert len({tagged, Instance(name="a", tags={"x": "1"}), Instance(name="a")}) == 2
