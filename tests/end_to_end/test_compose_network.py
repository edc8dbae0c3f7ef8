"""The network of examples/compose, built from namespaces instead of containers."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.deployment_files import COMPOSE, compose
from tests.end_to_end.program import (
    Program,
    environment_of,
    finish,
    run,
    serving,
)
from tests.programs.installed import needs
from tests.programs.network import NetworkNamespace, connect, some_namespaces

pytestmark = needs("curl", "setpriv")

SERVICES = compose()["services"]
SERVICE, APP = SERVICES["forewarn"], SERVICES["app"]
(MADE,) = compose()["networks"]["metadata"]["ipam"]["config"]
BITS = MADE["subnet"].partition("/")[2]

#: Like in a container, ports below 1024 need the sysctl of the Compose file.
MORTAL = ("setpriv", "--bounding-set=-net_bind_service")

EVENTS = "http://169.254.169.254/metadata/scheduledevents?api-version=2020-07-01"


@dataclass(frozen=True, slots=True, kw_only=True)
class ComposeNetwork:
    """The machine with the bridge, and the two containers connected to it."""

    machine: NetworkNamespace
    service: NetworkNamespace
    app: NetworkNamespace


def address_of(service: object) -> str:
    assert isinstance(service, dict)
    return str(service["networks"]["metadata"]["ipv4_address"])


@contextmanager
def a_network() -> Iterator[ComposeNetwork]:
    """Connect two namespaces by a bridge without an address, as `inhibit_ipv4` does."""
    with some_namespaces("machine", "forewarn", "app") as (machine, service, app):
        machine.do("ip", "link", "add", "br0", "type", "bridge")
        machine.do("ip", "link", "set", "br0", "up")
        for place, definition in ((service, SERVICE), (app, APP)):
            connect(machine, f"to-{place.name}", place)
            machine.do("ip", "link", "set", f"to-{place.name}", "master", "br0")
            own = f"{address_of(definition)}/{BITS}"
            place.do("ip", "address", "add", own, "dev", "eth0")
        for name, value in SERVICE["sysctls"].items():
            file = f"/proc/sys/{name.replace('.', '/')}"
            service.do("sh", "-c", f"echo {value} > {file}")
        yield ComposeNetwork(machine=machine, service=service, app=app)


@pytest.fixture(scope="module")
def network() -> Iterator[ComposeNetwork]:
    with a_network() as network:
        yield network


@pytest.fixture(scope="module")
def program(
    network: ComposeNetwork, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Program]:
    inside = SERVICE["environment"]["FOREWARN_FLEET"]
    (outside,) = [
        volume.partition(":")[0] for volume in SERVICE["volumes"] if inside in volume
    ]
    with serving(
        tmp_path_factory.mktemp("compose"),
        fleet=COMPOSE.parent / outside,
        metadata=[SERVICE["environment"]["FOREWARN_METADATA"]],
        within=[*network.service.within, *MORTAL],
    ) as program:
        yield program


def curl(place: NetworkNamespace, folder: Path, *words: str) -> str:
    command = [*place.within, "curl", "-s", "-m", "5", *words]
    return finish(command, folder, environment_of(folder)).out


def test_the_container_health_check_passes(
    network: ComposeNetwork, program: Program, tmp_path: Path
) -> None:
    _, _, *words = SERVICE["healthcheck"]["test"]
    where = {"FOREWARN_URL": program.service.control}
    done = run(tmp_path, *words, within=network.service.within, **where)
    assert (done.code, done.out) == (0, "ready\n")


def test_the_unchanged_application_sees_and_approves_its_event(
    network: ComposeNetwork, program: Program, tmp_path: Path
) -> None:
    (source,) = [volume.partition(":")[0] for volume in APP["volumes"]]
    file = COMPOSE.parent / source
    with subprocess.Popen(
        [*network.app.within, "timeout", "20", sys.executable, str(file)],
        env=environment_of(tmp_path, POLL_SECONDS="0.1"),
        stdout=subprocess.PIPE,
        text=True,
    ) as app:
        try:
            where = {"FOREWARN_URL": program.service.control}
            words = ("announce", "reboot", "--vm", "web-0", "--source", "user")
            listening(network, tmp_path)
            done = run(tmp_path, *words, within=network.service.within, **where)
            assert done.code == 0, done.err
            assert app.stdout is not None
            lines = [app.stdout.readline().split()[1:] for _ in range(2)]
        finally:
            app.terminate()  # `timeout` passes the signal on
    assert lines == [["Reboot", "Scheduled"], ["approved"]]


def listening(network: ComposeNetwork, folder: Path) -> None:
    """Poll once as the application: a disabled group would get no notice."""
    assert "Events" in curl(network.app, folder, "-H", "Metadata:true", EVENTS)


def test_the_application_cannot_impersonate_another_vm(
    network: ComposeNetwork, program: Program, tmp_path: Path
) -> None:
    other = EVENTS.replace("/metadata", "/vm/web-0/metadata")
    status = ("-o", "/dev/null", "-w", "%{http_code}", "-H", "Metadata:true")
    assert curl(network.app, tmp_path, *status, other) == "404"
    assert curl(network.app, tmp_path, *status, EVENTS) == "200"


def test_the_application_cannot_reach_the_control_plane(
    network: ComposeNetwork, program: Program, tmp_path: Path
) -> None:
    port = program.service.control.rpartition(":")[2]
    outside = f"http://169.254.169.254:{port}/readyz"
    assert curl(network.app, tmp_path, "-w", "%{http_code}", outside) == "000"
    ready = f"http://127.0.0.1:{port}/readyz"
    assert "ready" in curl(network.service, tmp_path, ready)


def test_the_container_host_has_no_route_to_the_metadata_address(
    network: ComposeNetwork, program: Program, tmp_path: Path
) -> None:
    command = [*network.machine.within, "ip", "route", "get", "169.254.169.254"]
    assert finish(command, tmp_path, environment_of(tmp_path)).code != 0


def test_without_the_sysctl_port_80_needs_root(
    network: ComposeNetwork, tmp_path: Path
) -> None:
    listen = "import socket; socket.create_server(('127.0.0.1', 80))"
    command = [*network.app.within, *MORTAL, sys.executable, "-c", listen]
    done = finish(command, tmp_path, environment_of(tmp_path))
    assert "Permission denied" in done.err
