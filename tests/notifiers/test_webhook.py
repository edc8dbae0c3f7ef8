"""Webhooks over real HTTP: requests, accepted responses, and error messages."""

import base64
import time
from http.server import BaseHTTPRequestHandler
from threading import Thread

import pytest
from tests.notifiers.receiver import Receiver, a_reply
from tests.notifiers.samples import SENT, a_notice, a_webhook, refusal
from tests.patience import PATIENCE

from forewarn import __version__
from forewarn.notifiers.webhook import cloud_event, cloud_event_bytes, signature

# --- requests ----------------------------------------------------------------


def test_notice_is_posted_as_a_signed_cloud_event(receiver: Receiver) -> None:
    a_webhook(f"{receiver.url}/hook?key=1", "new", "old").notify(a_notice(attempt=3))
    (got,) = receiver.got
    expected = cloud_event_bytes(cloud_event(a_notice(), "/forewarn"))
    assert (got.path, got.body) == ("/hook?key=1", expected)
    assert got.headers["Content-Type"] == (
        "application/cloudevents+json; charset=utf-8"
    )
    assert got.headers["Forewarn-Delivery-Attempt"] == "3"
    assert got.headers["Forewarn-Signature"] == signature(
        expected, ["new", "old"], SENT
    )
    assert got.headers["User-Agent"] == f"forewarn/{__version__}"
    assert got.headers["Host"] == receiver.url.removeprefix("http://")


def test_without_a_secret_nothing_is_signed(receiver: Receiver) -> None:
    a_webhook(receiver.url, headers={"X-Team": "ops"}).notify(a_notice())
    assert "Forewarn-Signature" not in receiver.got[0].headers
    assert receiver.got[0].headers["X-Team"] == "ops"


def test_user_in_the_url_becomes_basic_authentication(receiver: Receiver) -> None:
    url = receiver.url.replace("//", "//me:p%40ss@")
    a_webhook(url).notify(a_notice())
    sent = receiver.got[0].headers["Authorization"].removeprefix("Basic ")
    assert base64.b64decode(sent) == b"me:p@ss"


def test_a_header_wins_over_the_user_in_the_url(receiver: Receiver) -> None:
    url = receiver.url.replace("//", "//me:pass@")
    a_webhook(url, headers={"authorization": "Bearer x"}).notify(a_notice())
    (name,) = [
        header
        for header in receiver.got[0].headers
        if header.lower() == "authorization"
    ]
    assert receiver.got[0].headers[name] == "Bearer x"


@pytest.mark.parametrize(
    ("url", "path"),
    [("", "/"), ("?key=1", "/?key=1"), ("/a;b?c#d", "/a;b?c")],
)
def test_request_uses_the_path_and_query_of_the_url(
    receiver: Receiver, url: str, path: str
) -> None:
    a_webhook(receiver.url + url).notify(a_notice())
    assert [got.path for got in receiver.got] == [path]


@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY", "all_proxy"])
def test_no_proxy_is_used(
    receiver: Receiver, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, "http://127.0.0.1:1")
    a_webhook(receiver.url).notify(a_notice())
    assert len(receiver.got) == 1


# --- accepted responses ------------------------------------------------------


@pytest.mark.parametrize("status", [200, 201, 202, 204, 299])
def test_2xx_is_a_success(receiver: Receiver, status: int) -> None:
    receiver.reply = a_reply(status)
    a_webhook(receiver.url).notify(a_notice())


@pytest.mark.parametrize("status", [300, 302, 304, 307, 400, 404, 410, 429, 500, 503])
def test_every_other_status_is_a_failure_and_no_redirect_is_followed(
    receiver: Receiver, status: int
) -> None:
    receiver.reply = a_reply(status, Location=f"{receiver.url}/elsewhere")
    message = refusal(a_webhook(f"{receiver.url}/hook"))
    assert f"{receiver.url} responded with {status}" in message
    assert [request.path for request in receiver.got] == ["/hook"]


def test_endless_body_does_not_spoil_a_success(receiver: Receiver) -> None:
    def endless(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", "1000000")
        handler.end_headers()
        receiver.hang(handler)

    receiver.reply = endless
    a_webhook(receiver.url).notify(a_notice())


# --- error messages ----------------------------------------------------------


def test_failure_shows_the_beginning_of_the_response(receiver: Receiver) -> None:
    receiver.reply = a_reply(500, "we\r\nare \x1b[1mclosed" + "x" * 1000)
    message = refusal(a_webhook(receiver.url))
    excerpt = message.partition("Internal Server Error: ")[2]
    assert excerpt.startswith("we are  [1mclosedxxx")
    assert len(excerpt) == 200


def test_response_with_odd_bytes_is_reported(receiver: Receiver) -> None:
    def odd(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(400)
        handler.send_header("Content-Length", "9")
        handler.end_headers()
        handler.wfile.write(b"\xff\xfe!")
        handler.close_connection = True

    receiver.reply = odd
    assert "responded with 400 Bad Request" in refusal(a_webhook(receiver.url))


def test_secrets_repeated_by_the_receiver_are_redacted(receiver: Receiver) -> None:
    def echo(handler: BaseHTTPRequestHandler) -> None:
        a_reply(403, f"secret1 hush {handler.headers['Authorization']}")(handler)

    receiver.reply = echo
    url = f"{receiver.url}/hook?token=hush-hush"
    webhook = a_webhook(
        url, "secret1", headers={"Authorization": "Bearer abcdefgh12345"}
    )
    message = refusal(webhook)
    assert message.endswith("403 Forbidden: *** hush Bearer ***")
    assert "token" not in message


def test_user_password_and_query_are_never_shown(receiver: Receiver) -> None:
    receiver.reply = lambda handler: a_reply(
        500, handler.headers["Authorization"] + handler.path
    )(handler)
    url = receiver.url.replace("//", "//me:password@") + "/hook"
    message = refusal(a_webhook(url))
    assert "password" not in message
    assert base64.b64encode(b"me:password").decode() not in message
    assert f"{receiver.url} responded with" in message


def test_unreachable_receiver_is_an_error_message() -> None:
    message = refusal(a_webhook("http://127.0.0.1:1/hook?key=1"))
    assert message == "http://127.0.0.1:1 refused the connection"


def test_name_without_an_address_is_an_error_message() -> None:
    name = "x" * 64  # longer than any DNS label, so no server is queried
    assert refusal(a_webhook(f"http://{name}/")).startswith(f"cannot resolve {name}")


def test_closed_connection_is_an_error_message(receiver: Receiver) -> None:
    def hang_up(handler: BaseHTTPRequestHandler) -> None:
        handler.close_connection = True

    receiver.reply = hang_up
    assert "without a response" in refusal(a_webhook(receiver.url))


def test_response_that_is_not_http_is_an_error_message(receiver: Receiver) -> None:
    def mumble(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"220 mail.example ESMTP\r\n")
        handler.close_connection = True

    receiver.reply = mumble
    assert "did not send a valid HTTP response" in refusal(a_webhook(receiver.url))


# --- timeouts ----------------------------------------------------------------


@pytest.mark.parametrize("way", ["hang", "trickle"])
def test_slow_response_times_out(receiver: Receiver, way: str) -> None:
    receiver.reply = getattr(receiver, way)
    began = time.monotonic()
    message = refusal(a_webhook(receiver.url, timeout=0.2))
    assert time.monotonic() - began < PATIENCE / 2
    assert "did not respond within 0.2 s" in message


def test_close_aborts_the_request_in_progress(receiver: Receiver) -> None:
    receiver.reply = receiver.hang
    webhook = a_webhook(receiver.url)
    messages: list[str] = []
    thread = Thread(target=lambda: messages.append(refusal(webhook)))
    thread.start()
    receiver.wait_for(lambda: len(receiver.got) == 1)
    webhook.close()
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert len(messages) == 1


def test_nothing_is_sent_after_close(receiver: Receiver) -> None:
    webhook = a_webhook(receiver.url)
    webhook.close()
    refusal(webhook)
    assert receiver.got == []
