"""Bodies of requests to the control plane: how large they are, how long they take."""

import asyncio
import json
import socket
from urllib.parse import urlsplit

import pytest
from starlette.types import Message, Receive, Scope, Send
from tests.patience import PATIENCE
from tests.server.support.service import TOKEN, RunningService

from forewarn.server.control.http.body_limits import (
    BodyLimit,
    BodyLimits,
    BodyLimitTable,
)

MIB = 1024 * 1024


def connect(service: RunningService) -> socket.socket:
    where = urlsplit(service.control)
    return socket.create_connection((where.hostname or "", where.port or 0), PATIENCE)


def a_head(line: str, *headers: str, token: str = TOKEN) -> bytes:
    lines = [f"{line} HTTP/1.1", "Host: localhost", f"Authorization: Bearer {token}"]
    return "\r\n".join([*lines, *headers, "", ""]).encode()


def answer_to(client: socket.socket) -> tuple[int, bytes]:
    """Read one answer to the end of the connection."""
    said = b""
    while part := client.recv(65536):
        said += part
    head, _, body = said.partition(b"\r\n\r\n")
    return int(head.split()[1]), body


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", "/v1/maintenances"), ("PUT", "/v1/vms/web-0"), ("GET", "/healthz")],
)
def test_a_body_of_more_than_a_mebibyte_is_refused(
    shared: RunningService, method: str, path: str
) -> None:
    answer = shared.ask(method, path, raw=b" " * (MIB + 1))
    assert answer.status == 413
    assert answer.detail == "the body of this request may have 1 MiB at most"


def test_a_body_of_a_mebibyte_is_read(shared: RunningService) -> None:
    answer = shared.ask("POST", "/v1/maintenances", raw=b" " * MIB)
    assert answer.status == 400


def test_a_fleet_may_be_larger(shared: RunningService) -> None:
    answer = shared.ask("PUT", "/v1/fleet", raw=b" " * (5 * MIB))
    assert answer.status == 400


def test_a_fleet_of_more_than_64_mebibytes_is_refused_unread(
    shared: RunningService,
) -> None:
    with connect(shared) as client:
        client.sendall(a_head("PUT /v1/fleet", f"Content-Length: {64 * MIB + 1}"))
        client.shutdown(socket.SHUT_WR)
        status, body = answer_to(client)
    assert status == 413
    assert "64 MiB" in json.loads(body)["detail"]


def test_a_body_in_chunks_is_counted_while_it_is_read(shared: RunningService) -> None:
    chunk = b"10000\r\n" + b" " * 0x10000 + b"\r\n"
    with connect(shared) as client:
        client.sendall(a_head("POST /v1/maintenances", "Transfer-Encoding: chunked"))
        for _ in range(80):  # 5 MiB, of which no end is sent
            client.sendall(chunk)
        client.shutdown(socket.SHUT_WR)
        assert answer_to(client)[0] == 413


def test_who_waits_for_leave_to_send_too_much_does_not_get_it(
    shared: RunningService,
) -> None:
    head = a_head(
        "POST /v1/maintenances", "Content-Length: 9999999", "Expect: 100-continue"
    )
    with connect(shared) as client:
        client.sendall(head)
        assert client.recv(65536).startswith(b"HTTP/1.1 413 ")


def test_a_body_without_a_token_is_not_read(shared: RunningService) -> None:
    head = a_head("PUT /v1/fleet", "Content-Length: 9999999", token="wrong")
    with connect(shared) as client:
        client.sendall(head)
        assert client.recv(65536).startswith(b"HTTP/1.1 401 ")


# --- in time -----------------------------------------------------------------


async def shout(scope: Scope, receive: Receive, send: Send) -> None:
    """Answer with the body."""
    body = b""
    while True:
        message = await receive()
        body += message["body"]
        if not message.get("more_body", False):
            break
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": body})


def sizes(path: str, *messages: Message) -> list[Message]:
    """Send a body, message by message and then no more; answer what was sent back."""
    short = BodyLimit(mib=1, seconds=0.05)
    app = BodyLimits(shout, BodyLimitTable(default=short, linger=0.05))
    left, sent = iter(messages), list[Message]()

    async def receive() -> Message:
        message = next(left, None)
        if message is None:
            await asyncio.Event().wait()  # for ever
        assert message is not None
        return message

    async def send(message: Message) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": path, "headers": []}
    asyncio.run(app(scope, receive, send))
    return sent


def part(body: bytes, *, is_last: bool = False) -> Message:
    return {"type": "http.request", "body": body, "more_body": not is_last}


def test_a_body_is_passed_on_as_it_came() -> None:
    sent = sizes("/", part(b"a"), part(b""), part(b"bc", is_last=True))
    assert sent[1]["body"] == b"abc"


def test_a_body_that_takes_too_long_is_refused() -> None:
    sent = sizes("/v1/maintenances", part(b"a"))
    assert sent[0]["status"] == 408
    assert b"took more than 0.05 s" in sent[1]["body"]
    assert sent[-1] == {"type": "http.response.body", "body": b"", "more_body": False}


def test_who_hangs_up_in_his_body_is_not_answered() -> None:
    assert sizes("/", part(b"a"), {"type": "http.disconnect"}) == []


def test_the_dialect_is_refused_in_its_own_shape() -> None:
    large = part(b" " * (MIB + 1), is_last=True)
    sent = sizes("/subscriptions/s", large, part(b"", is_last=True))
    assert sent[0]["status"] == 413
    assert json.loads(sent[1]["body"])["error"]["code"] == "RequestEntityTooLarge"
