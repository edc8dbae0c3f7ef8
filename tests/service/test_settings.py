"""Settings that reach the parts of a service."""

import socket
from contextlib import ExitStack
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.drivers.scripts import write_script
from tests.end_to_end.program import until
from tests.patience import PATIENCE
from tests.server.support.service import a_config, a_service

from forewarn.clocks import make_clock
from forewarn.protocol.types import EventType
from forewarn.service.setup import driver_of, rules_of

HERE = '[[vms]]\nname = "here"\naddresses = ["127.0.0.1"]\n'
GET = (
    b"GET /metadata/scheduledevents?api-version=2020-07-01 HTTP/1.1\r\n"
    b"Host: x\r\nMetadata: true\r\n\r\n"
)


@pytest.mark.parametrize(
    ("setting", "response"),
    [("connections_per_vm", b"HTTP/1.1 503 "), ("connections", b"")],
)
def test_number_of_connections_is_limited(
    tmp_path: Path, setting: str, response: bytes
) -> None:
    fleet = tmp_path / "here.toml"
    fleet.write_text(HERE)
    flags = {setting: "2", "fleet": str(fleet), "open": False}
    with a_service(tmp_path, **flags) as service, ExitStack() as stack:
        address = urlsplit(service.metadata)
        clients = [
            stack.enter_context(
                socket.create_connection((address.hostname, address.port), PATIENCE)
            )
            for _ in range(3)
        ]
        for client in clients[:2]:
            client.sendall(GET)
            assert client.recv(65536).startswith(b"HTTP/1.1 200 ")
        assert clients[2].recv(65536)[:13] == response


def test_a_script_is_retried_after_its_timeout_as_configured(tmp_path: Path) -> None:
    script = write_script(
        tmp_path / "script", "test $FOREWARN_ATTEMPT != 1 || sleep 60"
    )
    driver = {
        "driver": "script",
        "driver_command": str(script),
        "driver_timeout": "0.5",
        "driver_retries": "1",
        "driver_backoff": "0.1",
        "lead": "0",
        "shown_reboot": "0",
    }
    with a_service(tmp_path, clock="system", **driver) as service:
        maintenance = service.announce(vms=["lone"], emergency=True, reason="x")
        path = f"/v1/maintenances/{maintenance['id']}"
        until(lambda: service.get(path)["phase"] == "COMPLETED", PATIENCE)
        (failed,) = service.facts("WorkFailed")
    assert failed["detail"] == "took longer than 0.5 s"


def test_grace_period_and_options_reach_the_driver(tmp_path: Path) -> None:
    config = a_config(tmp_path, driver_grace="7", driver_options={"url": "here"})
    driver = driver_of(config)
    assert (driver.grace, driver.options) == (7, {"url": "here"})


def test_minimum_times_are_real_time_with_a_fast_clock(tmp_path: Path) -> None:
    config = a_config(tmp_path, clock="x60", shown_preempt="0.3", lead="2")
    rules = rules_of(config, make_clock("x60", kept=None, last=None))
    assert rules.shown[EventType.PREEMPT] == timedelta(seconds=18)
    assert rules.lead == timedelta(minutes=2)
