"""The service on loopback, in a network of its own, and on hypervisors."""

from collections.abc import Iterator

import pytest
from tests.end_to_end.program import Program, serving
from tests.programs.hypervisor import BRIDGE, TAPS, Hypervisor, a_hypervisor
from tests.programs.libvirt_hosts import Hosts, some_hosts
from tests.programs.site import Site, a_site
from tests.programs.watch import watch


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    """Serve the demo fleet on loopback; the clock is moved by hand."""
    with serving(tmp_path_factory.mktemp("loopback"), "--clock", "manual") as made:
        yield made


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Serve real machines at the real address; the clock is moved by hand."""
    with a_site(tmp_path_factory.mktemp("site"), "--clock", "manual") as made:
        yield made


@pytest.fixture(scope="module")
def bridge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hypervisor]:
    """Serve VMs on a bridge, as the page on 169.254.169.254 says."""
    with a_hypervisor(tmp_path_factory.mktemp("bridge"), BRIDGE) as made:
        watch(made)
        yield made


@pytest.fixture(scope="module")
def taps(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hypervisor]:
    """Serve VMs on taps of their own, as that page says."""
    with a_hypervisor(tmp_path_factory.mktemp("taps"), TAPS) as made:
        watch(made)
        yield made


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    """Run two hosts with libvirt; tests name their VMs differently."""
    with some_hosts(tmp_path_factory.mktemp("libvirt")) as made:
        yield made


@pytest.fixture(params=["bridge", "taps"])
def hypervisor(request: pytest.FixtureRequest) -> Hypervisor:
    """Stand for both ways of the page."""
    made = request.getfixturevalue(request.param)
    assert isinstance(made, Hypervisor)
    return made
