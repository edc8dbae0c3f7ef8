"""Identification of VMs by source address, at the real 169.254.169.254:80."""

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.end_to_end.program import SOON, until
from tests.patience import PATIENCE
from tests.programs.deployment import URL, Deployment, a_deployment
from tests.programs.installed import needs
from tests.programs.network import ENDPOINT, ENDPOINT_6, HAS_IPV6
from tests.programs.record import approval, start_requests, vms_that_saw

pytestmark = [pytest.mark.full, needs("curl")]

ROOT = f"http://{ENDPOINT}"
INSTANCE = f"{ROOT}/metadata/instance/compute/name?api-version=2021-02-01&format=text"
REFUSED = 7  # curl: the connection was refused


def curl(deployment: Deployment, machine: str, *words: str) -> tuple[int, Any]:
    """Send a request from `machine`; return the status, and the JSON or the text."""
    options = ("-s", "-m", "10", "-H", "Metadata:true", "-w", "\n%{http_code}")
    done = deployment.on(machine, "curl", *options, *words)
    assert done.code == 0, done
    body, _, status = done.out.rpartition("\n")
    return int(status), json.loads(body) if body.startswith("{") else body


@pytest.mark.parametrize("machine", ["db-0", "db-1", "lone"])
def test_a_machine_is_identified_by_its_address(
    deployment: Deployment, machine: str
) -> None:
    assert curl(deployment, machine, INSTANCE) == (200, machine)


def test_an_unknown_address_is_refused_and_named(deployment: Deployment) -> None:
    for url in (URL, INSTANCE):
        status, response = curl(deployment, "stranger", url)
        assert status == 404
        assert "10.77.0.99" in response["error"]


def test_a_machine_cannot_impersonate_another(deployment: Deployment) -> None:
    status, response = curl(
        deployment, "lone", URL.replace("/metadata", "/vm/db-0/metadata")
    )
    assert (status, response) == (404, {"error": "Not found"})
    forwarded = curl(deployment, "lone", "-H", "X-Forwarded-For: 10.77.0.10", URL)
    assert forwarded[0] == 400


def test_only_the_group_sees_the_event(deployment: Deployment) -> None:
    event = deployment.announce("freeze", "db-0")
    for machine in ("db-0", "db-1"):
        _, document = curl(deployment, machine, URL)
        assert event in [shown["EventId"] for shown in document["Events"]]
    assert curl(deployment, "lone", URL)[1]["Events"] == []


def test_another_group_cannot_approve(deployment: Deployment) -> None:
    event = deployment.announce("freeze", "db-1")
    status, response = curl(deployment, "lone", "-d", start_requests(event), URL)
    assert status == 400
    assert event in response["error"]
    assert curl(deployment, "stranger", "-d", start_requests(event), URL)[0] == 404
    assert approval(deployment.facts(), event) is None


def test_the_journal_names_the_machine_that_approved(deployment: Deployment) -> None:
    event = deployment.announce("freeze", "db-0")
    curl(deployment, "db-0", URL)
    assert curl(deployment, "db-1", "-d", start_requests(event), URL) == (200, "")
    facts = deployment.facts()
    assert approval(facts, event) == ("db-1", "metadata")
    assert vms_that_saw(facts, event) == ["db-0"]


@pytest.mark.skipif(not HAS_IPV6, reason="this machine has no IPv6")
def test_a_machine_is_identified_by_its_ipv6_address(deployment: Deployment) -> None:
    url = INSTANCE.replace(ENDPOINT, f"[{ENDPOINT_6}]")
    assert curl(deployment, "db-0", url) == (200, "db-0")


# --- control plane -----------------------------------------------------------


def test_the_control_plane_is_unreachable(deployment: Deployment) -> None:
    port = urlsplit(deployment.program.service.control).port
    for host in (ENDPOINT, "127.0.0.1", *([f"[{ENDPOINT_6}]"] if HAS_IPV6 else [])):
        done = deployment.on(
            "db-0", "curl", "-s", "-m", "5", f"http://{host}:{port}/healthz"
        )
        assert done.code == REFUSED


@pytest.mark.parametrize("path", ["/v1/vms", "/healthz", "/docs", "/openapi.json"])
def test_the_endpoint_serves_nothing_of_the_control_plane(
    deployment: Deployment, path: str
) -> None:
    token = ("-H", f"Authorization: Bearer {deployment.program.service.token}")
    assert curl(deployment, "db-0", *token, f"{ROOT}{path}")[0] == 404


# --- a link that goes down ---------------------------------------------------


@contextmanager
def long_poll(
    deployment: Deployment, machine: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Start a long poll on `machine`."""
    done = deployment.on(
        machine, "curl", "-s", "-I", "-X", "GET", "-H", "Metadata:true", URL
    )
    tag = next(line for line in done.out.splitlines() if line.startswith("ETag: "))
    wait = ("-H", f"If-None-Match: {tag[6:]}", "-H", "Prefer: wait=60")
    within = deployment.network.machines[machine].within
    with subprocess.Popen(
        [*within, "curl", "-s", "-N", "-H", "Metadata:true", *wait, URL],
        stdout=subprocess.PIPE,
    ) as waiting:
        try:
            yield waiting
        finally:
            waiting.kill()


def connections(deployment: Deployment) -> int:
    """Return the number of connections that the service holds open."""
    words = ("ss", "-Hnt", "state", "established", "sport", "=", ":80")
    done = subprocess.run(
        [*deployment.network.service.within, *words], capture_output=True, check=True
    )
    return len(done.stdout.splitlines())


@needs("ss")
def test_a_link_that_goes_down_affects_no_other(tmp_path: Path) -> None:
    with (
        a_deployment(tmp_path) as deployment,
        long_poll(deployment, "db-0"),
        long_poll(deployment, "db-1") as held,
    ):
        until(lambda: connections(deployment) == 2)
        deployment.network.cut("db-0")
        event = deployment.announce("reboot", "db-0")
        assert held.wait(PATIENCE) == 0
        assert held.stdout is not None
        assert event in held.stdout.read().decode()
        assert curl(deployment, "db-1", "-d", start_requests(event), URL) == (200, "")
        facts = deployment.facts()
        assert approval(facts, event) == ("db-1", "metadata")
        assert "db-1" in vms_that_saw(facts, event)
        code, seconds = deployment.program.stop()
        assert (code, deployment.program.log) == (0, "")
        assert seconds < SOON
