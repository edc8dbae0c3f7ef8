"""Size and time limits of request bodies, and tokens revoked while they are sent."""

import asyncio
import json
import socket
from contextlib import closing
from http.client import HTTPConnection
from urllib.parse import urlsplit

import pytest
from pydantic import ValidationError
from starlette.types import Message, Receive, Scope, Send
from tests.patience import PATIENCE
from tests.server.control.test_tokens import make
from tests.server.support.arm_client import VERSION, VMS
from tests.server.support.service import TOKEN, RunningService

from forewarn.server.control.http.body_limits import (
    BodyLimit,
    BodyLimits,
    BodyLimitTable,
)
from forewarn.server.control.models import Announcement
from forewarn.server.control.routes.rehearsal import NewFault

MIB = 1024 * 1024


def connect(service: RunningService) -> socket.socket:
    where = urlsplit(service.control)
    return socket.create_connection((where.hostname or "", where.port or 0), PATIENCE)


def a_head(line: str, *headers: str, token: str = TOKEN) -> bytes:
    lines = [f"{line} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {token}"]
    return "\r\n".join([*lines, *headers, "", ""]).encode()


def read_response(client: socket.socket) -> tuple[int, bytes]:
    """Read one response up to the end of the connection."""
    data = b""
    while part := client.recv(65536):
        data += part
    head, _, body = data.partition(b"\r\n\r\n")
    return int(head.split()[1]), body


@pytest.mark.parametrize(
    ("method", "path", "kib"),
    [
        ("POST", "/v1/vms/web-0/restart", 16),
        ("POST", "/v1/events/E/approve", 16),
        ("PUT", "/v1/vms/web-0", 64),
        ("POST", "/v1/maintenances", 256),
        ("POST", "/v1/maintenances?dry_run=true", 256),
    ],
)
def test_size_of_a_body_is_limited(
    shared: RunningService, method: str, path: str, kib: int
) -> None:
    answer = shared.request(method, path, raw=b"[".ljust(kib * 1024))
    assert answer.status in (400, 404)  # it was read
    answer = shared.request(method, path, raw=b"[".ljust(kib * 1024 + 1))
    assert answer.status == 413
    assert answer.detail == f"the request body is larger than {kib} KiB"


def test_announcement_of_a_thousand_vms_with_long_names_is_read(
    shared: RunningService,
) -> None:
    body = {"type": "Freeze", "vms": [f"{i:080}" for i in range(1000)]}
    answer = shared.request("POST", "/v1/maintenances?dry_run=true", body)
    assert answer.status == 404
    assert f"{0:080}" in answer.detail


# --- the work that a body causes ---------------------------------------------


def test_body_with_many_names_is_refused_before_it_is_validated(
    shared: RunningService,
) -> None:
    body = {f"{i:x}": 0 for i in range(1500)}
    answer = shared.request("POST", "/v1/vms/web-0/restart", body)
    assert answer.status == 422
    assert answer.detail.startswith("the body has 1500 keys; the maximum is 32")


def test_long_unknown_name_is_not_returned(shared: RunningService) -> None:
    answer = shared.request("POST", "/v1/vms/web-0/restart", {"\u0416" * 2000: 0})
    assert answer.status == 422
    assert len(answer.body) < 1024


def test_only_the_first_invalid_name_of_a_vm_makes_an_error() -> None:
    for model, given in ((Announcement, {"type": "Freeze"}), (NewFault, {"kind": "x"})):
        with pytest.raises(ValidationError) as caught:
            model.model_validate({**given, "vms": [0] * 1000})
        assert caught.value.error_count() == 1


def test_every_body_has_few_names(shared: RunningService) -> None:
    spec = shared.get("/openapi.json")
    counts = [
        len(schema.get("properties", ()))
        for schema in spec["components"]["schemas"].values()
    ]
    assert max(counts) < 32


# --- large bodies ------------------------------------------------------------


def test_fleet_body_may_be_larger(shared: RunningService) -> None:
    answer = shared.request("PUT", "/v1/fleet", raw=b" " * (5 * MIB))
    assert answer.status == 400


def test_fleet_body_over_64_mebibytes_gets_413_unread(
    shared: RunningService,
) -> None:
    with connect(shared) as client:
        client.sendall(a_head("PUT /v1/fleet", f"Content-Length: {64 * MIB + 1}"))
        client.shutdown(socket.SHUT_WR)
        status, body = read_response(client)
    assert status == 413
    assert "64 MiB" in json.loads(body)["detail"]


def test_chunked_body_is_counted_while_it_is_read(shared: RunningService) -> None:
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    with connect(shared) as client:
        client.sendall(a_head("POST /v1/maintenances", "Transfer-Encoding: chunked"))
        for _ in range(80):  # 5 MiB without a final chunk
            client.sendall(chunk)
        client.shutdown(socket.SHUT_WR)
        assert read_response(client)[0] == 413


def test_expectation_with_oversized_body_gets_413(
    shared: RunningService,
) -> None:
    head = a_head(
        "POST /v1/maintenances", "Content-Length: 9999999", "Expect: 100-continue"
    )
    with connect(shared) as client:
        client.sendall(head)
        assert client.recv(65536).startswith(b"HTTP/1.1 413 ")


def test_body_with_an_invalid_token_is_not_read(shared: RunningService) -> None:
    head = a_head("PUT /v1/fleet", "Content-Length: 9999999", token="wrong")
    with connect(shared) as client:
        client.sendall(head)
        assert client.recv(65536).startswith(b"HTTP/1.1 401 ")


@pytest.mark.parametrize(
    ("path", "size", "limit"),
    [
        ("/healthz", 1025, "1 KiB"),
        ("/readyz", 1025, "1 KiB"),
        ("/portal/", 1025, "1 KiB"),
        ("/nothing", 1025, "1 KiB"),
        ("/v1/session", 16 * 1024 + 1, "16 KiB"),
    ],
)
def test_body_without_a_purpose_has_a_small_limit(
    shared: RunningService, path: str, size: int, limit: str
) -> None:
    with connect(shared) as client:
        client.sendall(a_head(f"POST {path}", f"Content-Length: {size}"))
        client.shutdown(socket.SHUT_WR)
        status, body = read_response(client)
    assert status == 413
    assert limit in json.loads(body)["detail"]


# --- time limits -------------------------------------------------------------


async def echo_body(scope: Scope, receive: Receive, send: Send) -> None:
    """Respond with the request body."""
    body = b""
    while True:
        message = await receive()
        body += message["body"]
        if not message.get("more_body", False):
            break
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


def sizes(path: str, *messages: Message, caller: bool = True) -> list[Message]:
    """Send `messages` as a body that never ends and return the response messages."""
    short = BodyLimit(bytes=MIB, seconds=0.05)
    app = BodyLimits(echo_body, BodyLimitTable(default=short))
    left, sent = iter(messages), list[Message]()

    async def receive() -> Message:
        message = next(left, None)
        if message is None:
            await asyncio.Event().wait()  # forever
        assert message is not None
        return message

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": path, "headers": []}
    state = {"caller": "somebody"} if caller else {}
    asyncio.run(app({**scope, "state": state}, receive, send))
    return sent


def body_message(body: bytes, *, is_last: bool = False) -> Message:
    return {"type": "http.request", "body": body, "more_body": not is_last}


def test_body_is_passed_on_unchanged() -> None:
    sent = sizes(
        "/", body_message(b"a"), body_message(b""), body_message(b"bc", is_last=True)
    )
    assert sent[1]["body"] == b"abc"


def test_a_body_without_a_token_is_refused_when_it_exceeds_a_kibibyte() -> None:
    small, more = body_message(b" " * 1024), body_message(b" ")
    last = body_message(b"", is_last=True)
    assert sizes("/", small, last, caller=False)[0]["status"] == 200
    assert sizes("/", small, more, last, caller=False)[0]["status"] == 413


def test_slow_body_gets_408() -> None:
    sent = sizes("/v1/clock/advance", body_message(b"a"))
    assert sent[0]["status"] == 408
    assert b"took more than 0.05 s" in sent[1]["body"]


def test_disconnect_during_the_body_gets_no_response() -> None:
    assert sizes("/", body_message(b"a"), {"type": "http.disconnect"}) == []


def test_oversized_arm_body_gets_413_in_arm_format() -> None:
    large = body_message(b" " * (MIB + 1), is_last=True)
    sent = sizes("/subscriptions/s", large, body_message(b"", is_last=True))
    assert sent[0]["status"] == 413
    assert json.loads(sent[1]["body"])["error"]["code"] == "RequestEntityTooLarge"


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


def test_token_revoked_after_a_refused_body_leaves_no_traceback(
    service: RunningService, caplog: pytest.LogCaptureFixture
) -> None:
    token = make(service, "ci", "operator")["token"]
    head = a_head("POST /v1/session", f"Content-Length: {MIB}", token=token)
    with connect(service) as client:
        client.sendall(head)
        assert client.recv(65536).startswith(b"HTTP/1.1 413 ")
        service.request("DELETE", "/v1/tokens/ci")
        client.sendall(b" " * MIB + a_head("GET /v1/session", token=token))
        assert client.recv(65536).startswith(b"HTTP/1.1 401 ")
    assert not [record for record in caplog.records if record.exc_info]
