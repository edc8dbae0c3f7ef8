"""Tokens that are revoked while the request body is being sent."""

from contextlib import closing
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest
from tests.server.control.test_tokens import make
from tests.server.support.arm_client import VERSION, VMS
from tests.server.support.service import RunningService


def wait_for_continue(connection: HTTPConnection) -> None:
    """Wait for `100 Continue`, which is sent after the token was accepted."""
    received = b""
    while not received.endswith(b"\r\n\r\n"):
        received += connection.sock.recv(1)
    assert received.startswith(b"HTTP/1.1 100 ")


@pytest.mark.parametrize(
    "path",
    [
        "/v1/vms/lone/restart",
        f"{VMS}/lone/restart?{VERSION}",
    ],
)
def test_token_revoked_before_the_body_arrives_gets_401(
    service: RunningService, path: str
) -> None:
    token = make(service, "ci", "operator")["token"]
    where = urlsplit(service.control)
    connection = HTTPConnection(where.hostname or "", where.port, 10)
    with closing(connection):
        connection.putrequest("POST", path)
        connection.putheader("Authorization", f"Bearer {token}")
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", "2")
        connection.putheader("Expect", "100-continue")
        connection.endheaders()
        wait_for_continue(connection)
        service.request("DELETE", "/v1/tokens/ci")
        connection.send(b"{}")
        answer = connection.getresponse()
        assert answer.status == 401
        assert b"revoked" in answer.read()
    assert service.get("/v1/maintenances")["items"] == []
