"""Sync client over real connections, to well-behaved and faulty services."""

import threading
from datetime import timedelta

import pytest
from tests.client.support.builders import an_event
from tests.client.support.service import (
    DATE,
    EMPTY,
    a_service,
    drip,
    hang_up,
    is_disabled,
    respond,
    sends,
)
from tests.patience import PATIENCE

from forewarn.client import Client
from forewarn.errors import (
    ClientClosed,
    InvalidInput,
    Misunderstood,
    Refused,
    Unreachable,
)
from forewarn.protocol.types import Document

EVENT = {
    "EventId": "E0",
    "EventStatus": "Scheduled",
    "EventType": "Levitate",
    "ResourceType": "VirtualMachine",
    "Resources": ["web-0"],
    "NotBefore": "Sat, 31 Jan 2026 12:15:00 GMT",
    "Mood": "calm",
}
ONE = {"DocumentIncarnation": 7, "Events": [EVENT]}


def test_creating_a_client_opens_no_connection() -> None:
    with a_service() as service:
        Client(service.url).close()
        assert service.connections == 0


def test_unknown_values_of_a_document_are_kept() -> None:
    with a_service(respond(ONE, Date=DATE)) as service, Client(service.url) as client:
        document = client.document()
        event = document.events[0]
        assert (document.incarnation, event.type) == (7, "Levitate")
        assert event.raw["Mood"] == "calm"
        left = client.time_left(event)
        assert left is not None
        assert timedelta(minutes=14) < left <= timedelta(minutes=15)
        assert client.time_left(an_event(not_before=None)) is None


def test_a_request_has_the_required_headers() -> None:
    with a_service(respond(EMPTY)) as service, Client(service.url) as client:
        client.document()
        headers = service.headers()
        assert service.line() == (
            "GET /metadata/scheduledevents?api-version=2020-07-01 HTTP/1.1"
        )
        assert headers["host"] == f"127.0.0.1:{service.port}"
        assert headers["metadata"] == "true"
        assert headers["accept"] == "application/json"
        assert headers["user-agent"].startswith("forewarn/")


def test_an_endpoint_may_have_a_path_and_come_from_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with a_service(respond(EMPTY)) as service:
        monkeypatch.setenv("FOREWARN_ENDPOINT", f"{service.url}/vm/web-0/")
        with Client(api_version="2019-08-01") as client:
            client.document()
            assert client.endpoint == f"{service.url}/vm/web-0"
        assert service.line() == (
            "GET /vm/web-0/metadata/scheduledevents?api-version=2019-08-01 HTTP/1.1"
        )


@pytest.mark.parametrize("name", ["http_proxy", "HTTP_PROXY", "ALL_PROXY"])
def test_proxies_are_ignored(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "http://127.0.0.1:1")
    with a_service(respond(EMPTY)) as service, Client(service.url) as client:
        assert client.document() == Document(incarnation=0)


def test_an_empty_body_means_no_events() -> None:
    with a_service(respond(b"")) as service, Client(service.url) as client:
        reading = client.read()
        assert reading.document == Document(incarnation=0)
        assert reading.is_blank


@pytest.mark.parametrize(
    "options",
    [
        {"timeout": 0},
        {"timeout": "inf"},
        {"first_timeout": -1},
        {"first_timeout": 1e10},
        {"patience": -1},
        {"patience": "nan"},
    ],
)
def test_invalid_numbers_are_refused(options: dict[str, float]) -> None:
    numbers = {name: float(value) for name, value in options.items()}
    with pytest.raises(InvalidInput):
        Client("http://127.0.0.1:1", **numbers)  # type: ignore[arg-type]


@pytest.mark.parametrize("version", ["", "2020-07-01&x=1", "a b", "a\r\nb"])
def test_a_version_that_would_break_the_request_is_refused(version: str) -> None:
    with pytest.raises(InvalidInput):
        Client("http://127.0.0.1:1", api_version=version)


# --- single reads ------------------------------------------------------------


def test_a_reading_has_tag_time_and_long_poll_support() -> None:
    act = respond(EMPTY, Date=DATE, ETag='"7"', Preference_Applied="wait=5")
    with a_service(act) as service, Client(service.url) as client:
        reading = client.read(tag='"6"', wait=5)
        assert (reading.tag, reading.is_held) == ('"7"', True)
        assert reading.reckoning is not None
        assert reading.reckoning.rate == 1.0
        assert service.headers()["if-none-match"] == '"6"'
        assert service.headers()["prefer"] == "wait=5"


def test_an_unchanged_document_is_none() -> None:
    act = respond(status=304, ETag='"7"')
    with a_service(act) as service, Client(service.url) as client:
        reading = client.read(tag='"7"')
        assert (reading.document, reading.tag) == (None, '"7"')


def test_the_tag_is_kept_if_a_304_does_not_repeat_it() -> None:
    with a_service(respond(status=304)) as service, Client(service.url) as client:
        assert client.read(tag='"7"').tag == '"7"'


def test_a_read_is_not_retried() -> None:
    with a_service(respond(status=503), respond(EMPTY)) as service:
        with Client(service.url) as client, pytest.raises(Refused) as caught:
            client.read()
        assert caught.value.status == 503
        assert len(service.requests) == 1


# --- connections -------------------------------------------------------------


def test_a_connection_is_reused() -> None:
    acts = [respond(EMPTY), respond(status=304), respond(EMPTY)]
    with a_service(*acts) as service, Client(service.url) as client:
        for _ in range(3):
            client.read(tag='"7"')
        assert service.connections == 1


def test_a_dead_keep_alive_connection_is_replaced() -> None:
    acts = [respond(EMPTY), hang_up, respond(ONE)]
    with a_service(*acts) as service, Client(service.url) as client:
        client.read()
        reading = client.read()
        assert reading.document is not None
        assert reading.document.incarnation == 7
        assert service.connections == 2


def test_a_new_connection_that_dies_is_not_replaced() -> None:
    with a_service(hang_up, respond(ONE)) as service, Client(service.url) as client:
        with pytest.raises(Unreachable, match="lost the connection"):
            client.read()
        assert len(service.requests) == 1


def test_connection_close_leads_to_a_new_connection() -> None:
    acts = [respond(EMPTY, Connection="close"), respond(ONE)]
    with a_service(*acts) as service, Client(service.url) as client:
        client.read()
        client.read()
        assert service.connections == 2


def test_a_connection_with_excess_bytes_is_not_reused() -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Length: 13\r\n\r\n"
    answer = head + b'{"Events":[]}HTTP/1.1 200'
    with a_service(sends(answer, stays=True), respond(ONE)) as service:
        with Client(service.url) as client:
            client.read()
            client.read()
        assert service.connections == 2


def test_an_approval_does_not_wait_for_a_long_poll() -> None:
    with a_service(is_disabled, respond(b"")) as service, Client(service.url) as client:
        held = threading.Thread(target=lambda: list(client.watch()))
        held.start()
        service.wait()
        client.approve("E0")
        assert service.line() == (
            "POST /metadata/scheduledevents?api-version=2020-07-01 HTTP/1.1"
        )
        client.close()
        held.join(PATIENCE)
        assert not held.is_alive()


def test_closing_ends_a_retry_pause() -> None:
    ends: list[Exception] = []

    def ask(client: Client) -> None:
        try:
            client.document()
        except ClientClosed as error:
            ends.append(error)

    with a_service(respond(status=429, Retry_After="20")) as service:
        client = Client(service.url)
        thread = threading.Thread(target=ask, args=(client,))
        thread.start()
        service.wait()
        client.close()
        thread.join(10)  # half of the pause
        assert len(ends) == 1


def test_a_closed_client_sends_nothing() -> None:
    with a_service(respond(EMPTY)) as service:
        client = Client(service.url)
        client.close()
        with pytest.raises(ClientClosed):
            client.document()
        assert list(client.watch()) == []
        assert service.connections == 0


# --- faulty services ---------------------------------------------------------


HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"

BAD = {
    "HTML": (respond(b"<html>", Content_Type="text/html"), Misunderstood, "web page"),
    "HTML without a content type": (
        respond(b" <!doctype html>"),
        Misunderstood,
        "web page",
    ),
    "no JSON": (respond(b"{"), Misunderstood, "not valid JSON"),
    "no object": (respond([1]), Misunderstood, "not a JSON object"),
    "no list": (respond({"Events": 1}), Misunderstood, "no Events list"),
    "an error": (
        respond({"error": "backend timeout"}),
        Misunderstood,
        r"no Events list \(backend timeout\)",
    ),
    "no id": (respond({"Events": [{}]}), Misunderstood, "no EventId"),
    "no HTTP": (sends(b"SSH-2.0-OpenSSH\r\n"), Misunderstood, "is not HTTP"),
    "no status": (sends(b"HTTP/1.1 OK\r\n\r\n"), Misunderstood, "is not HTTP"),
    "cut head": (sends(HEAD), Unreachable, "incomplete"),
    "cut body": (
        sends(HEAD + b"Content-Length: 9\r\n\r\n{"),
        Unreachable,
        "incomplete",
    ),
    "cut chunk": (sends(CHUNKED + b"9\r\n{"), Unreachable, "incomplete"),
    "cut before chunks": (sends(CHUNKED), Unreachable, "incomplete"),
    "a longer chunk": (sends(CHUNKED + b"1\r\n{}\r\n0\r\n\r\n"), Misunderstood, "size"),
    "a bad chunk": (sends(CHUNKED + b"x\r\n"), Misunderstood, "chunk"),
    "a bad length": (
        sends(HEAD + b"Content-Length: x\r\n\r\n"),
        Misunderstood,
        "Content-Length",
    ),
    "two lengths": (
        sends(HEAD + b"Content-Length: 1\r\nContent-Length: 2\r\n\r\n{}"),
        Misunderstood,
        "Content-Length",
    ),
    "too long": (
        sends(HEAD + b"Content-Length: 99999999\r\n\r\n"),
        Misunderstood,
        "larger than 16 MB",
    ),
    "redirect": (respond(status=302, Location="/x"), Refused, "do not redirect"),
    "bad request": (respond({"error": "no header"}, 400), Refused, "no header"),
    "unexpected 304": (respond(status=304), Misunderstood, "without If-None-Match"),
    "forbidden": (respond(b"", 403), Refused, "403"),
    "never": (is_disabled, Unreachable, "no response from .* within 0.2 s"),
    "drip": (
        drip(HEAD + b"Content-Length: 900000\r\n\r\n", b" "),
        Unreachable,
        "within 0.2 s",
    ),
    "dripping head": (drip(HEAD, b"X-A: b\r\n"), Unreachable, "within 0.2 s"),
    "endless": (drip(HEAD + b"\r\n", b" " * 1_000_000), Misunderstood, "larger"),
    "endless head": (drip(HEAD, b"a" * 10_000), Misunderstood, "too long"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_response_is_an_error_that_names_the_problem(name: str) -> None:
    act, kind, why = BAD[name]
    seconds = 0.2 if "within" in why else PATIENCE
    with (
        a_service(act) as service,
        Client(service.url, timeout=seconds, first_timeout=seconds) as client,
        pytest.raises(kind, match=why) as caught,
    ):
        client.read()
    assert service.url in str(caught.value)
    assert len(service.requests) == 1


NONE = b'{"Events":[]}'  # 13 bytes

GOOD = {
    "chunked": CHUNKED + b"d\r\n" + NONE + b"\r\n0\r\n\r\n",
    "chunks with more": (
        CHUNKED + b"1;a=b\r\n{\r\n0c\r\n" + NONE[1:] + b"\r\n0\r\nTrailer: x\r\n\r\n"
    ),
    "until closed": HEAD + b"\r\n" + NONE,
    "HTTP/1.0": b"HTTP/1.0 200 OK\r\n\r\n" + NONE,
    "no reason": b"HTTP/1.1 200\r\nContent-Length: 13\r\n\r\n" + NONE,
    "hints first": (
        b"HTTP/1.1 103 Early\r\n\r\n" + HEAD + b"content-length:13\r\n\r\n" + NONE
    ),
    "lengths that agree": HEAD + b"Content-Length: 13, 13\r\n\r\n" + NONE,
    "a mark of order": HEAD + b"\r\n\xef\xbb\xbf" + NONE,
}


@pytest.mark.parametrize("name", GOOD)
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_a_valid_response_is_read_in_any_fragments(name: str, size: int) -> None:
    data = GOOD[name]
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    with a_service(sends(*pieces)) as service, Client(service.url) as client:
        assert client.read().document == Document(incarnation=0)


def test_an_unreachable_service_is_named_with_its_address() -> None:
    with (
        Client("http://127.0.0.1:1") as client,
        pytest.raises(Unreachable, match=r"http://127\.0\.0\.1:1 refused the conn"),
    ):
        client.read()


def test_the_first_request_may_take_longer_than_others() -> None:
    with (
        a_service(respond(EMPTY), is_disabled) as service,
        Client(service.url, timeout=0.1, first_timeout=30) as client,
    ):
        client.read()
        with pytest.raises(Unreachable, match=r"within 0\.1 s"):
            client.read()


# --- retries -----------------------------------------------------------------


def test_a_client_without_patience_does_not_retry() -> None:
    acts = [respond(status=500), respond(ONE)]
    with a_service(*acts) as service, Client(service.url, patience=0) as client:
        with pytest.raises(Refused):
            client.document()
        assert len(service.requests) == 1


# --- approvals ---------------------------------------------------------------


def test_events_are_approved_by_id_or_by_object() -> None:
    with a_service(respond(b"")) as service, Client(service.url) as client:
        client.approve(an_event(id="E1"), "E2", "E1")
        assert service.body() == (
            b'{"StartRequests":[{"EventId":"E1"},{"EventId":"E2"}]}'
        )
        assert service.headers()["metadata"] == "true"


@pytest.mark.parametrize("ids", [[], [""], ["E0", ""], ["\udcff"]])
def test_approving_nothing_is_refused_locally(ids: list[str]) -> None:
    with Client("http://127.0.0.1:1") as client, pytest.raises(InvalidInput):
        client.approve(*ids)


# --- instance ----------------------------------------------------------------


def test_an_instance_is_requested_in_its_own_version() -> None:
    body = {"compute": {"name": "web-0", "zone": "2"}}
    with a_service(respond(body)) as service, Client(service.url) as client:
        assert client.instance().name == "web-0"
        assert (
            service.line() == "GET /metadata/instance?api-version=2021-02-01 HTTP/1.1"
        )


def test_an_instance_without_a_name_is_an_error() -> None:
    with (
        a_service(respond({"compute": {}})) as service,
        Client(service.url, patience=0) as client,
        pytest.raises(Misunderstood, match=r"compute\.name"),
    ):
        client.instance()
