"""The fleet of the load is one that forewarn takes, of the size that was asked for."""

import tomllib

import pytest
from benchmarks.fleet import a_fleet

from forewarn.core import fleet_file
from forewarn.core.fleet import audience_name


@pytest.mark.parametrize("vms", [1, 7, 60, 100, 300, 1000])
def test_a_fleet_has_as_many_vms_as_it_should(vms: int) -> None:
    made = a_fleet(vms)
    read = fleet_file.read_fleet(tomllib.loads(made.text))
    assert len(made.machines) == len(read.vms) == vms
    assert {*made.groups} == read.groups.keys()
    for each in made.machines:
        group = read.groups[each.group]
        assert each.audience == audience_name(group, each.name)
        assert read.vms[each.name].host == each.host
