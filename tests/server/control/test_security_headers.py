"""Security headers of every control-plane response."""

import asyncio
import re
from base64 import b64encode
from contextlib import suppress
from hashlib import sha256
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.types import Message
from tests.server.support.service import RunningService, send_request

from forewarn.server.app import in_public
from forewarn.server.control.http.origin import AllowedHosts

ALWAYS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
}


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/healthz", 200),
        ("/openapi.json", 200),
        ("/v1/vms", 200),
        ("/v1/vms/nobody", 404),
        ("/nothing", 404),
    ],
)
def test_every_response_has_security_headers(
    shared: RunningService, path: str, status: int
) -> None:
    answer = shared.request("GET", path)
    assert answer.status == status
    assert {name: answer.headers[name] for name in ALWAYS} == ALWAYS


@pytest.mark.parametrize(
    ("headers", "status"),
    [({}, 401), ({"Host": "evil.example"}, 421), ({"Origin": "null"}, 403)],
)
def test_every_refusal_has_security_headers(
    shared: RunningService, headers: dict[str, Any], status: int
) -> None:
    answer = send_request("GET", f"{shared.control}/v1/vms", **headers)
    assert answer.status == status
    assert {name: answer.headers[name] for name in ALWAYS} == ALWAYS


@pytest.mark.parametrize(
    ("path", "cache_control"),
    [("/v1/vms", "no-store"), ("/v1/clock", "no-store"), ("/openapi.json", None)],
)
def test_private_responses_are_not_cached(
    shared: RunningService, path: str, cache_control: str | None
) -> None:
    assert shared.request("GET", path).headers["Cache-Control"] == cache_control


def test_api_reference_page_allows_only_its_own_style(shared: RunningService) -> None:
    answer = shared.request("GET", "/docs")
    policy = answer.headers["Content-Security-Policy"]
    [style] = re.findall(r"<style>(.*?)</style>", answer.body.decode(), re.DOTALL)
    digest = b64encode(sha256(style.encode()).digest()).decode()
    assert f"style-src 'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none'; ")
    assert "unsafe" not in policy


def test_internal_error_has_security_headers() -> None:
    app = FastAPI()

    def fail() -> None:
        raise ZeroDivisionError

    app.add_api_route("/", fail)

    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request"}

    async def send(message: Message) -> None:
        sent.append(message)

    async def request_document() -> None:
        await in_public(app, AllowedHosts(bound="127.0.0.1"))(
            {
                "type": "http",
                "method": "GET",
                "scheme": "http",
                "path": "/",
                "query_string": b"",
                "headers": [(b"host", b"localhost")],
            },
            receive,
            send,
        )

    with suppress(ZeroDivisionError):
        asyncio.run(request_document())
    assert sent[0]["status"] == 500
    assert (b"x-content-type-options", b"nosniff") in sent[0]["headers"]
