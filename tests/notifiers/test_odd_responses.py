"""Webhooks with unusual or late responses, or responses that repeat secrets."""

import base64
import socket
import time
from contextlib import ExitStack
from http.server import BaseHTTPRequestHandler
from threading import Event

import pytest
from tests.notifiers.receiver import Receiver, Reply, a_reply
from tests.notifiers.samples import a_notice, a_webhook, refusal
from tests.patience import PATIENCE

from forewarn.notifiers.http_post import _Response
from forewarn.ports import Bell


def writing(*parts: bytes) -> Reply:
    """Send these bytes and close the connection."""

    def reply(handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"".join(parts))
        handler.close_connection = True

    return reply


# --- interim responses -------------------------------------------------------


@pytest.mark.parametrize("early", [b"100 Continue", b"102 Processing", b"103 Hints"])
def test_interim_responses_are_skipped(receiver: Receiver, early: bytes) -> None:
    head = b"HTTP/1.1 " + early + b"\r\nLink: </a>\r\n\r\n"
    receiver.reply = writing(head, head, b"HTTP/1.1 204 No Content\r\n\r\n")
    a_webhook(receiver.url).notify(a_notice())
    assert len(receiver.got) == 1


@pytest.mark.parametrize("early", [b"100 Continue", b"103 Hints"])
def test_only_so_many_interim_responses_are_read(
    receiver: Receiver, early: bytes
) -> None:
    interim, final = b"HTTP/1.1 " + early + b"\r\n\r\n", b"HTTP/1.1 204 Done\r\n\r\n"
    receiver.reply = writing(*[interim] * 100, final)
    a_webhook(receiver.url).notify(a_notice())
    receiver.reply = writing(*[interim] * 101, final)
    message = refusal(a_webhook(receiver.url))
    assert message.endswith(
        "more than 100 interim responses (1xx) but no final response"
    )


def test_refusal_after_an_interim_response_is_reported(receiver: Receiver) -> None:
    hint = b"HTTP/1.1 103 Hints\r\nContent-Length: 7\r\n\r\n"
    answer = b"HTTP/1.1 503 Busy\r\nContent-Length: 5\r\n\r\nlater"
    receiver.reply = writing(hint, answer)
    assert refusal(a_webhook(receiver.url)).endswith("responded with 503 Busy: later")


def test_switching_protocols_is_a_failure(receiver: Receiver) -> None:
    receiver.reply = writing(b"HTTP/1.1 101 Switching Protocols\r\n\r\n")
    assert "responded with 101" in refusal(a_webhook(receiver.url))


def test_endless_interim_responses_time_out(receiver: Receiver) -> None:
    def send_hints_forever(handler: BaseHTTPRequestHandler) -> None:
        handler.close_connection = True
        while not receiver.ends.wait(0.01):
            handler.wfile.write(b"HTTP/1.1 103 Hints\r\n\r\n")

    receiver.reply = send_hints_forever
    message = refusal(a_webhook(receiver.url, timeout=0.1))
    assert message.endswith("did not respond within 0.1 s")


def test_no_interim_response_is_parsed_after_the_timeout() -> None:
    class AfterOne(Bell):
        """A timeout that is reached while the first interim response is read."""

        def __init__(self) -> None:
            super().__init__()
            self._answers = iter([False])

        def is_set(self) -> bool:
            return next(self._answers, True)

    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(b"HTTP/1.1 103 Hints\r\n\r\n" * 2)
        theirs.sendall(b"HTTP/1.1 204 No Content\r\n\r\n")
        with _Response(ours, method="POST", late=AfterOne()) as response:
            with pytest.raises(TimeoutError):
                response.begin()
            assert response.fp.readline() == b"HTTP/1.1 103 Hints\r\n"


# --- incomplete responses ----------------------------------------------------


@pytest.mark.parametrize(
    "head",
    [
        b"HTTP/1.1 200 O",
        b"HTTP/1.1 200 OK\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 2",
        b"HTTP/1.1 204 No Content\r\nServer: test\r\n",
        b"HTTP/1.1 103 Hints\r\n\r\nHTTP/1.1 200 OK\r\nServer",
    ],
)
def test_success_with_an_incomplete_head_is_a_failure(
    receiver: Receiver, head: bytes
) -> None:
    receiver.reply = writing(head)
    message = refusal(a_webhook(receiver.url))
    assert message.endswith("closed the connection without a response")


# --- slow name resolution ----------------------------------------------------


def test_name_resolution_counts_toward_the_timeout(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = socket.getaddrinfo

    def find_late(host: str, port: int, **more: int) -> object:
        Event().wait(0.1)
        return find(host, port, **more)

    monkeypatch.setattr(socket, "getaddrinfo", find_late)
    receiver.reply = receiver.trickle
    began = time.monotonic()
    message = refusal(a_webhook(receiver.url, timeout=0.05))
    assert message.endswith("did not respond within 0.05 s")
    assert time.monotonic() - began < PATIENCE / 2
    assert receiver.got == []


@pytest.mark.slow
def test_unresponsive_address_leaves_time_for_the_next(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    stream = (socket.AF_INET, socket.SOCK_STREAM, 0, "")
    with socket.socket() as deaf, ExitStack() as callers:
        deaf.bind(("127.0.0.1", 0))
        deaf.listen(0)
        for _ in range(3):  # more than the backlog holds, so further connections hang
            caller = callers.enter_context(socket.socket())
            caller.setblocking(False)
            caller.connect_ex(deaf.getsockname())
        answers = ("127.0.0.1", int(receiver.url.rpartition(":")[2]))
        addresses = [(*stream, deaf.getsockname()), (*stream, answers)]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: addresses)
        a_webhook(receiver.url, timeout=4).notify(a_notice())
    assert len(receiver.got) == 1


# --- what is shown of a response ---------------------------------------------


def test_reason_phrase_cannot_move_the_cursor(receiver: Receiver) -> None:
    receiver.reply = writing(b"HTTP/1.1 200 \x1b[2J\x9bfine\r\n\r\n")
    answer = a_webhook(receiver.url).send({})
    assert str(answer) == "200 [2J fine"


def test_reason_phrase_is_truncated(receiver: Receiver) -> None:
    receiver.reply = writing(b"HTTP/1.1 200 " + b"x" * 5000 + b"\r\n\r\n")
    assert len(a_webhook(receiver.url).send({}).reason) == 200


def test_query_of_the_url_is_redacted_in_responses(receiver: Receiver) -> None:
    receiver.reply = lambda handler: a_reply(404, f"no {handler.path}")(handler)
    message = refusal(a_webhook(f"{receiver.url}/hook?key=hush%2Fhush"))
    assert message.endswith("404 Not Found: no /hook?***")


@pytest.mark.parametrize("repeated", ["/T0/hush%2Dhush", "/T0/hush-hush", "hush-hush"])
def test_path_of_the_url_is_redacted_in_responses(
    receiver: Receiver, repeated: str
) -> None:
    receiver.reply = a_reply(404, f"no {repeated}")
    message = refusal(a_webhook(f"{receiver.url}/T0/hush%2Dhush"))
    assert message == f"{receiver.url} responded with 404 Not Found: no ***"


@pytest.mark.parametrize("repeated", ["hush/hush", "hush%2Fhush"])
def test_value_in_the_query_is_redacted_in_responses(
    receiver: Receiver, repeated: str
) -> None:
    receiver.reply = a_reply(403, f"{repeated} is not known")
    message = refusal(a_webhook(f"{receiver.url}/hook?v=2&key=hush%2Fhush"))
    assert message.endswith("403 Forbidden: *** is not known")


def test_password_is_redacted_in_every_encoding(receiver: Receiver) -> None:
    coded = base64.b64encode(b"me:pass word").decode()
    receiver.reply = a_reply(401, f"pass word, {coded}")
    url = receiver.url.replace("//", "//me:pass%20word@")
    assert refusal(a_webhook(url)).endswith("401 Unauthorized: ***, ***")


def test_secret_that_begins_with_another_is_redacted_as_a_whole(
    receiver: Receiver,
) -> None:
    receiver.reply = a_reply(403, "summer, summer-2026")
    message = refusal(a_webhook(receiver.url, "summer", "summer-2026"))
    assert message.endswith("403 Forbidden: ***, ***")


def test_part_of_a_secret_is_redacted_where_a_response_is_truncated(
    receiver: Receiver,
) -> None:
    secret = "abcdefghijklmnopqrstuvwxyz1234"
    receiver.reply = a_reply(403, secret * 1000)
    message = refusal(a_webhook(receiver.url, secret))
    assert "a" not in message.partition("Forbidden")[2]


def test_secret_with_a_tab_is_redacted(receiver: Receiver) -> None:
    receiver.reply = a_reply(403, "what is hush\thush?")
    message = refusal(a_webhook(receiver.url, "hush\thush"))
    assert message.endswith("what is ***?")
