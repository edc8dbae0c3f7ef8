"""Monitoring of the real agent: metrics, health check and systemd notifications."""

import json
import os
import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from threading import Thread
from typing import Any

from prometheus_client.parser import text_string_to_metric_families
from tests.end_to_end.agents import Agent, an_agent
from tests.end_to_end.program import serving, until
from tests.patience import PATIENCE

RULE = '[[rules]]\nname = "all"\napprove = "never"\n'


@contextmanager
def listening(address: str) -> Iterator[Sequence[bytes]]:
    """Collect the messages sent to an abstract socket address, as systemd would."""
    heard: list[bytes] = []
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear:
        ear.bind(f"\0{address}")

        def hear() -> None:
            while message := ear.recv(4096):
                heard.append(message)

        thread = Thread(target=hear)
        thread.start()
        try:
            yield heard
        finally:
            with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as last:
                last.sendto(b"", f"\0{address}")
            thread.join()


def page(agent: Agent, path: str) -> tuple[int, str]:
    """Request a page from the agent at the address that it has logged."""
    pattern = r"serving metrics at http://([\d.:]+)/metrics"
    until(lambda: re.search(pattern, agent.log) is not None)
    (address,) = set(re.findall(pattern, agent.log))
    connection = HTTPConnection(address, timeout=PATIENCE)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def numbers(text: str) -> Mapping[tuple[str, ...], float]:
    """Parse metrics into values by name and label values."""
    families: Any = text_string_to_metric_families(text)
    return {
        (
            sample.name.removeprefix("forewarn_agent_"),
            *sample.labels.values(),
        ): sample.value
        for family in families
        for sample in family.samples
    }


def test_an_agent_is_monitored_from_start_to_stop(tmp_path: Path) -> None:
    file = tmp_path / "forewarn.prom"
    text = f'[metrics]\nlisten = "127.0.0.1:0"\ntextfile = "{file}"\n{RULE}'
    top = {"name": "web-0", "wait": False, "poll_seconds": 0.1}
    top |= {"blind_after_seconds": 1.0}
    address = f"forewarn-at-home-{os.getpid()}"
    systemd = {"NOTIFY_SOCKET": f"@{address}", "WATCHDOG_USEC": "400000"}
    with listening(address) as heard, serving(tmp_path, "--store", "memory") as program:
        endpoint = f"{program.metadata[0]}/vm/web-0"
        with an_agent(tmp_path / "vm", endpoint, text, top=top, **systemd) as agent:
            until(lambda: b"WATCHDOG=1" in heard)
            assert heard[0].startswith(b"READY=1\nSTATUS=")
            program.service.announce(vms=["web-0"])
            agent.wait_for("decided")
            until(
                lambda: ("events", "Reboot", "Scheduled", "1") in _read_metrics(agent)
            )
            metrics = _read_metrics(agent)
            assert metrics["decisions_total", "all"] == 1
            assert metrics["notice_given_seconds_count", "Reboot"] == 1
            until(lambda: page(agent, "/healthz")[0] == 200)
            until(lambda: numbers(file.read_text())["blind",] == 0)
            program.kill()
            until(lambda: page(agent, "/healthz")[0] == 503)
            assert [*json.loads(page(agent, "/healthz")[1])["reasons"]] == ["blind"]
            assert _read_metrics(agent)["blind",] == 1
            until(lambda: numbers(file.read_text())["blind",] == 1)
            assert agent.stop() == 0
            assert numbers(file.read_text())["up",] == 0
        until(lambda: heard[-1] == b"STOPPING=1")
        assert {*heard[1:-1]} == {b"WATCHDOG=1"}


def _read_metrics(agent: Agent) -> Mapping[tuple[str, ...], float]:
    status, text = page(agent, "/metrics")
    assert status == 200
    return numbers(text)


def test_an_agent_does_not_start_if_its_metrics_address_is_taken(
    tmp_path: Path,
) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        taken = f"127.0.0.1:{other.getsockname()[1]}"
        text = f'[metrics]\nlisten = "{taken}"\n{RULE}'
        with an_agent(tmp_path / "vm", "http://127.0.0.1:1", text) as agent:
            assert agent.process.wait(PATIENCE) == 1
    assert agent.log == (
        f"forewarn: cannot serve metrics on {taken}: Address already in use\n"
    )
