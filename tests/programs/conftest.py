"""Fixtures: the service on loopback, in its own network, and on hypervisors."""

from collections.abc import Iterator

import pytest
from tests.end_to_end.program import Program, serving
from tests.programs.deployment import Deployment, a_deployment
from tests.programs.frame_counters import watch
from tests.programs.hypervisor import BRIDGE, TAPS, Hypervisor, a_hypervisor
from tests.programs.libvirt_hosts import LibvirtHosts, some_hosts


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """Serve the demo fleet on loopback with a manual clock."""
    with serving(tmp_path_factory.mktemp("loopback"), "--clock", "manual") as running:
        yield running


@pytest.fixture(scope="module")
def deployment(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Deployment]:
    """Serve machines in namespaces at the real address, with a manual clock."""
    with a_deployment(tmp_path_factory.mktemp("site"), "--clock", "manual") as running:
        yield running


@pytest.fixture(scope="module")
def bridge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hypervisor]:
    """Serve VMs on a bridge, as the page on 169.254.169.254 describes."""
    with a_hypervisor(tmp_path_factory.mktemp("bridge"), BRIDGE) as running:
        watch(running)
        yield running


@pytest.fixture(scope="module")
def taps(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hypervisor]:
    """Serve VMs on separate taps, as that page describes."""
    with a_hypervisor(tmp_path_factory.mktemp("taps"), TAPS) as running:
        watch(running)
        yield running


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LibvirtHosts]:
    """Run two hosts with libvirt; each test uses its own VM names."""
    with some_hosts(tmp_path_factory.mktemp("libvirt")) as running:
        yield running


@pytest.fixture(params=["bridge", "taps"])
def hypervisor(request: pytest.FixtureRequest) -> Hypervisor:
    """Run the test with both setups of the page."""
    selected = request.getfixturevalue(request.param)
    assert isinstance(selected, Hypervisor)
    return selected
