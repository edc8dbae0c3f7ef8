"""Health and metrics endpoint of the agent."""

import json
import logging
import select
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection, HTTPResponse

import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.patience import PATIENCE

from forewarn import __version__
from forewarn.agent.telemetry.exporters import HealthServer
from forewarn.agent.telemetry.logs import Conditions
from forewarn.agent.telemetry.metrics import AgentMetrics
from forewarn.configfile.values import Address, read_address
from forewarn.errors import CannotStart


@contextmanager
def listening(
    at: str = "127.0.0.1:0", metrics: AgentMetrics | None = None
) -> Iterator[tuple[HealthServer, Conditions]]:
    conditions = Conditions(logging.getLogger("forewarn.agent"))
    health = HealthServer(read_address(at), metrics or AgentMetrics(), conditions)
    try:
        yield health, conditions
    finally:
        health.close()


def send_request(
    health: HealthServer, path: str, method: str = "GET"
) -> tuple[HTTPResponse, str]:
    connection = HTTPConnection(str(health.address), timeout=PATIENCE)
    try:
        connection.request(method, path)
        response = connection.getresponse()
        return response, response.read().decode()
    finally:
        connection.close()


def connect(health: HealthServer) -> socket.socket:
    where = health.address
    return socket.create_connection((where.host, where.port), timeout=PATIENCE)


def raw(health: HealthServer, *parts: bytes) -> bytes:
    """Send bytes and return the whole response."""
    with connect(health) as wire:
        for part in parts:
            wire.sendall(part)
        answer = b""
        while more := wire.recv(65536):
            answer += more
        return answer


def test_metrics_are_in_the_prometheus_format() -> None:
    metrics = AgentMetrics()
    metrics.set("blind", 1)
    with listening(metrics=metrics) as (health, _):
        response, body = send_request(health, "/metrics?x=y")
    assert response.status == 200
    assert response.headers["Content-Type"] == (
        "text/plain; version=0.0.4; charset=utf-8"
    )
    assert body == metrics.render()
    assert [*text_string_to_metric_families(body)]


def test_a_healthy_agent_reports_ok() -> None:
    with listening() as (health, conditions):
        conditions.report("textfile-unwritable", True, "no room")  # not an alarm
        response, body = send_request(health, "/healthz")
    assert response.status == 200
    assert response.headers["Content-Type"] == "application/json"
    assert json.loads(body) == {"status": "ok", "version": __version__, "reasons": {}}


@pytest.mark.parametrize("alarm", ["blind", "name-mismatch", "state-unwritable"])
def test_an_unhealthy_agent_reports_why(alarm: str) -> None:
    with listening() as (health, conditions):
        conditions.report(alarm, True, "it is dark here")
        response, body = send_request(health, "/healthz")
        assert response.status == 503
        assert json.loads(body)["status"] == "failing"
        assert json.loads(body)["reasons"] == {alarm: "it is dark here"}
        conditions.report(alarm, False, "light")
        assert send_request(health, "/healthz")[0].status == 200


@pytest.mark.parametrize("path", ["/", "/metrics/", "/v1", "*", "/metrics%2f"])
def test_other_paths_return_404(path: str) -> None:
    with listening() as (health, _):
        assert send_request(health, path)[0].status == 404


@pytest.mark.parametrize("method", ["POST", "HEAD", "DELETE", "get"])
def test_other_methods_return_405(method: str) -> None:
    with listening() as (health, _):
        response, _ = send_request(health, "/metrics", method)
    assert response.status == 405
    assert response.headers["Allow"] == "GET"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"\r\n\r\n", b"400"),
        (b"GET /metrics\r\n\r\n", b"400"),
        (b"\x16\x03\x01\x02\x00\r\n\r\n", b"400"),
        (b"GET /" + b"x" * 9000, b"431"),
        (b"GET /metrics HTTP/1.1\r\n" + b"A: b\r\n" * 2000 + b"\r\n", b"431"),
    ],
)
def test_an_invalid_request_is_refused(sent: bytes, status: bytes) -> None:
    with listening() as (health, _):
        assert raw(health, sent).startswith(b"HTTP/1.1 " + status + b" ")
        assert send_request(health, "/healthz")[0].status == 200


def test_a_request_may_arrive_in_pieces() -> None:
    with listening() as (health, _):
        answer = raw(health, b"GET /hea", b"lthz HTTP/1.0\r\n", b"\r\n")
    assert answer.startswith(b"HTTP/1.1 200 OK\r\n")


def test_a_client_that_disconnects_early_affects_no_other() -> None:
    with listening() as (health, _):
        for sent in (b"", b"GET /metrics HTT"):
            with connect(health) as wire:
                wire.sendall(sent)
        assert send_request(health, "/healthz")[0].status == 200


def test_a_slow_client_is_cut_off_and_others_are_served() -> None:
    conditions = Conditions(logging.getLogger("forewarn.agent"))
    health = HealthServer(
        Address("127.0.0.1", 0), AgentMetrics(), conditions, timeout=0.1
    )
    try:
        with connect(health) as slow:
            slow.sendall(b"x")
            sent = 1
            while sent < 6000 and not select.select([slow], [], [], 0.01)[0]:
                slow.sendall(b"x")
                sent += 1
        assert sent < 6000
        assert send_request(health, "/healthz")[0].status == 200
    finally:
        health.close()


def test_an_error_in_a_value_is_logged_and_the_next_request_is_served(
    caplog: pytest.LogCaptureFixture,
) -> None:
    metrics = AgentMetrics()
    metrics.set("blind_seconds", lambda: 1 / 0)
    with listening(metrics=metrics) as (health, _):
        assert send_request(health, "/metrics")[0].status == 500
        assert send_request(health, "/healthz")[0].status == 200
    assert "a metrics or health request failed" in caplog.text


def test_a_port_in_use_is_an_error_message() -> None:
    with (
        listening() as (health, _),
        pytest.raises(CannotStart, match=r"cannot serve metrics on 127\.0\.0\.1:\d+"),
    ):
        HealthServer(health.address, AgentMetrics(), Conditions(logging.getLogger()))


def test_an_unknown_host_name_is_an_error_message() -> None:
    with pytest.raises(CannotStart, match="nowhere"):
        HealthServer(
            Address("nowhere.invalid", 1),
            AgentMetrics(),
            Conditions(logging.getLogger()),
        )


def test_connections_are_refused_after_close() -> None:
    with listening() as (health, _):
        where = health.address
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection((where.host, where.port))


def test_it_serves_over_ipv6() -> None:
    with listening("[::1]:0") as (health, _):
        assert health.address.host == "::1"
        assert send_request(health, "/healthz")[0].status == 200


def test_a_loopback_address_causes_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    with listening():
        assert caplog.text == ""


def test_an_address_that_others_can_reach_causes_a_warning(
    caplog: pytest.LogCaptureFixture,
) -> None:
    for everyone in ("0.0.0.0:0", "[::]:0"):
        with listening(everyone):
            assert f"anyone who can reach {everyone} can read" in caplog.text
