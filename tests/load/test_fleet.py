"""The fleet of the load test: valid for forewarn and of the requested size."""

import tomllib

import pytest
from benchmarks.fleet import a_fleet

from forewarn.core import fleet_file
from forewarn.core.fleet import audience_name


@pytest.mark.parametrize("vms", [1, 7, 60, 100, 300, 1000])
def test_fleet_has_the_requested_number_of_vms(vms: int) -> None:
    generated = a_fleet(vms)
    read = fleet_file.read_fleet(tomllib.loads(generated.text))
    assert len(generated.machines) == len(read.vms) == vms
    assert {*generated.groups} == read.groups.keys()
    for machine in generated.machines:
        group = read.groups[machine.group]
        assert machine.audience == audience_name(group, machine.name)
        assert read.vms[machine.name].host == machine.host
