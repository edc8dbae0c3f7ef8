"""Python's HTTP clients: urllib, urllib3, requests, httpx and aiohttp."""

import asyncio
import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias
from urllib.parse import urlsplit
from urllib.request import ProxyHandler, Request, build_opener

import aiohttp
import httpx
import pytest
import requests
import urllib3
from tests.end_to_end.program import Program, serving
from tests.programs.record import approval, url_of, vms_that_saw

MARK = {"Metadata": "true"}

#: Sends one request and returns the status and the body.
Post: TypeAlias = Callable[[str, dict[str, Any]], tuple[int, bytes]]
Get: TypeAlias = Callable[[str], tuple[int, bytes]]


def with_urllib(url: str, body: bytes | None = None) -> tuple[int, bytes]:
    with build_opener(ProxyHandler({})).open(Request(url, body, MARK)) as response:
        return response.status, response.read()


def with_aiohttp(method: str, url: str, **body: Any) -> tuple[int, bytes]:
    async def ask() -> tuple[int, bytes]:
        async with (
            aiohttp.ClientSession(headers=MARK) as session,
            session.request(method, url, **body) as response,
        ):
            return response.status, await response.read()

    return asyncio.run(ask())


def with_urllib3(method: str, url: str, **body: Any) -> tuple[int, bytes]:
    with urllib3.PoolManager() as pool:
        response = pool.request(method, url, headers=MARK, **body)
        return response.status, response.data


def status_and_body(response: requests.Response | httpx.Response) -> tuple[int, bytes]:
    return response.status_code, response.content


READING: Mapping[str, Get] = {
    "urllib": with_urllib,
    "urllib3": lambda url: with_urllib3("GET", url),
    "requests": lambda url: status_and_body(requests.get(url, headers=MARK)),
    "httpx": lambda url: status_and_body(httpx.get(url, headers=MARK)),
    "aiohttp": lambda url: with_aiohttp("GET", url),
}

#: Named after their Content-Type: a form, none, bytes, or JSON.
APPROVING: Mapping[str, Post] = {
    "urllib form": lambda url, body: with_urllib(url, json.dumps(body).encode()),
    "urllib3 bare": lambda url, body: with_urllib3("POST", url, body=json.dumps(body)),
    "urllib3 json": lambda url, body: with_urllib3("POST", url, json=body),
    "requests bare": lambda url, body: status_and_body(
        requests.post(url, data=json.dumps(body), headers=MARK)
    ),
    "requests json": lambda url, body: status_and_body(
        requests.post(url, json=body, headers=MARK)
    ),
    "requests chunks": lambda url, body: status_and_body(
        requests.post(url, data=iter([json.dumps(body).encode()]), headers=MARK)
    ),
    "httpx bare": lambda url, body: status_and_body(
        httpx.post(url, content=json.dumps(body), headers=MARK)
    ),
    "httpx json": lambda url, body: status_and_body(
        httpx.post(url, json=body, headers=MARK)
    ),
    "aiohttp bytes": lambda url, body: with_aiohttp(
        "POST", url, data=json.dumps(body).encode()
    ),
    "aiohttp json": lambda url, body: with_aiohttp("POST", url, json=body),
}


@pytest.mark.parametrize("client", READING)
def test_a_client_reads(program: Program, client: str) -> None:
    maintenance = program.service.announce(type="Freeze", vms=["db-0"])
    status, body = READING[client](url_of(program, "db-0"))
    assert status == 200
    event = maintenance["events"][0]["id"]
    assert event in [
        event_shown["EventId"] for event_shown in json.loads(body)["Events"]
    ]
    assert program.service.approve_as("db-0", event).status == 200
    assert vms_that_saw(program.service.facts(), event) == ["db-0"]


@pytest.mark.parametrize("client", APPROVING)
def test_a_client_approves(program: Program, client: str) -> None:
    event = program.service.announce(type="Freeze", vms=["web-0"])["events"][0]["id"]
    body = {"StartRequests": [{"EventId": event}]}
    assert APPROVING[client](url_of(program, "web-1"), body) == (200, b"")
    assert approval(program.service.facts(), event) == ("web-1", "metadata")


# --- sessions ----------------------------------------------------------------


@contextmanager
def served_again(folder: Path, before: Program) -> Iterator[Program]:
    """Serve at the same address, after `before` has closed every connection."""
    assert before.stop()[0] == 0
    where = urlsplit(before.metadata[0]).netloc
    with serving(folder, "--clock", "manual", metadata=[where]) as program:
        yield program


@contextmanager
def sessions() -> Iterator[Mapping[str, Get]]:
    """Provide clients that keep connections open between requests."""
    with (
        urllib3.PoolManager(headers=MARK) as pool,
        requests.Session() as session,
        httpx.Client(headers=MARK) as client,
        asyncio.Runner() as runner,
        aiohttp_session(runner) as with_aiohttp,
    ):
        yield {
            "urllib3": lambda url: (pool.request("GET", url).status, b""),
            "requests": lambda url: status_and_body(session.get(url, headers=MARK)),
            "httpx": lambda url: status_and_body(client.get(url)),
            "aiohttp": with_aiohttp,
        }


@contextmanager
def aiohttp_session(runner: asyncio.Runner) -> Iterator[Get]:
    async def open_it() -> aiohttp.ClientSession:
        return aiohttp.ClientSession(headers=MARK)

    async def ask(url: str) -> tuple[int, bytes]:
        async with session.get(url) as response:
            return response.status, await response.read()

    session = runner.run(open_it())
    try:
        yield lambda url: runner.run(ask(url))
    finally:
        runner.run(session.close())


def test_sessions_survive_connections_closed_by_the_server(
    tmp_path: Path,
) -> None:
    with sessions() as clients, serving(tmp_path, "--clock", "manual") as before:
        url = url_of(before, "web-0")
        for get in clients.values():
            assert [get(url)[0] for _ in range(3)] == [200] * 3
        with served_again(tmp_path, before) as after:
            event = after.service.announce(vms=["web-0"])["events"][0]["id"]
            for name, get in clients.items():
                assert get(url)[0] == 200, name
            assert after.service.approve_as("web-0", event).status == 200
            assert vms_that_saw(after.service.facts(), event) == ["web-0"]


def test_a_session_reuses_one_connection(program: Program) -> None:
    with urllib3.PoolManager(headers=MARK) as pool:
        url = url_of(program, "web-0")
        assert [pool.request("GET", url).status for _ in range(5)] == [200] * 5
        connections = pool.connection_from_url(url)
        assert isinstance(connections, urllib3.HTTPConnectionPool)
        assert (connections.num_connections, connections.num_requests) == (1, 5)
