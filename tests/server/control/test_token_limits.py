"""Limits per token: requests and streams at once, and who sees what was refused."""

import json
from contextlib import ExitStack
from http.client import HTTPConnection
from typing import Any
from urllib.error import HTTPError
from urllib.parse import urlsplit

import pytest
from tests.end_to_end.program import until
from tests.patience import PATIENCE
from tests.server.control.test_journal import following, read_stream
from tests.server.control.test_tokens import client_with_token
from tests.server.support.scrapes import scrape
from tests.server.support.service import RunningService

from forewarn.core.tokens import Role
from forewarn.engine.tokens import TokenHolder
from forewarn.server.control.auth.token_limits import (
    TokenLimit,
    TokenLimits,
    token_shares,
)
from forewarn.server.control.http.shares import ConnectionPlaces

REQUESTS, STREAMS = TokenLimit.REQUESTS, TokenLimit.STREAMS
ADMIN = TokenHolder(name="admin", role=Role.ADMIN)
SHARES = token_shares(ConnectionPlaces(total=512))


def a_holder(name: str = "team") -> TokenHolder:
    return TokenHolder(name=name, role=Role.GROUP, group="web", token=f"id of {name}")


def begin(limits: TokenLimits, holder: TokenHolder, kind: TokenLimit, n: int) -> None:
    for _ in range(n):
        assert limits.begin(holder, kind) is None


# --- shares ------------------------------------------------------------------


def test_full_size_plane_has_documented_shares() -> None:
    assert SHARES.own == {REQUESTS: 16, STREAMS: 32}
    assert SHARES.admin == {REQUESTS: 32, STREAMS: 64}
    assert SHARES.together == 352


@pytest.mark.parametrize("total", [8, 25, 128, 512])
def test_tokens_cannot_use_all_connections(total: int) -> None:
    places = ConnectionPlaces(total=total)
    shares = token_shares(places)
    assert min(*shares.own.values(), shares.together) >= 2
    if total > 8:
        used = sum(shares.admin.values()) + shares.together
        assert used <= total - places.reserved


def test_requests_of_a_token_are_limited() -> None:
    limits = TokenLimits(SHARES)
    begin(limits, a_holder(), REQUESTS, 16)
    refused = limits.begin(a_holder(), REQUESTS)
    assert refused is not None
    assert refused.detail.startswith(
        "token team already has the maximum of 16 open requests"
    )
    assert limits.begin(a_holder(), STREAMS) is None
    assert limits.begin(a_holder("other"), REQUESTS) is None
    limits.end(a_holder(), REQUESTS)
    assert limits.begin(a_holder(), REQUESTS) is None


def test_the_admin_token_has_room_while_all_others_are_refused() -> None:
    limits = TokenLimits(SHARES)
    for number in range(11):
        begin(limits, a_holder(f"team-{number}"), STREAMS, 32)
    refused = limits.begin(a_holder(), REQUESTS)
    assert refused is not None
    assert refused.detail.startswith(
        "all tokens together already have the maximum of 352 open requests and"
    )
    begin(limits, ADMIN, REQUESTS, 32)
    begin(limits, ADMIN, STREAMS, 64)
    assert limits.begin(ADMIN, STREAMS) is not None


def test_number_of_named_tokens_is_limited() -> None:
    limits = TokenLimits(SHARES)
    for number in range(150):
        holder = a_holder(f"team-{number}")
        limits.begin(holder, REQUESTS)
        for _ in range(16):
            limits.begin(holder, REQUESTS)
        for _ in range(16):
            limits.end(holder, REQUESTS)
    assert len(limits.refused) == 101
    assert limits.refused["other", REQUESTS] == 50


def test_refusals_are_recent_for_five_minutes() -> None:
    now = [0.0]
    limits = TokenLimits(SHARES, lambda: now[0])
    begin(limits, a_holder(), STREAMS, 32)
    for now[0] in (1.0, 2.0):
        limits.begin(a_holder(), STREAMS)
    (recent,) = limits.recent()
    assert (recent.token, recent.refused, recent.allowed) == ("team", 2, 32)
    now[0] = 303.0
    assert limits.recent() == []
    limits.begin(a_holder(), STREAMS)
    assert [item.refused for item in limits.recent()] == [1]
    assert limits.refused["team", STREAMS] == 3


# --- in a service ------------------------------------------------------------


@pytest.fixture
def team(service: RunningService) -> RunningService:
    """Return a client with a group's token."""
    return client_with_token(service, "team", "group", group="web")


def open_streams(client: RunningService, stack: ExitStack) -> list[Any]:
    """Open as many streams as a token may have."""
    return [stack.enter_context(following(client)) for _ in range(32)]


def test_streams_of_a_token_are_limited_and_others_get_through(
    service: RunningService, team: RunningService
) -> None:
    with ExitStack() as stack:
        streams = open_streams(team, stack)
        answer = team.request("GET", "/v1/stream")
        assert answer.status == 429
        assert answer.headers["Retry-After"] == "5"
        assert "token team already has the maximum of 32 open streams" in answer.detail
        assert team.request("GET", "/v1/vms").status == 200
        with following(service, "?also=limits") as stream:
            (event,) = read_stream(stream, 1)
        text = "token team, 1 request refused recently (streams: at most 32 at once)"
        assert json.loads(event["data"])["items"][0]["text"] == text
        (token,) = service.get("/v1/tokens")["items"]
        assert token["refused"] == 1
        metrics = scrape(service)
        name = "forewarn_control_requests_refused_total"
        assert metrics.value(name, token="team", limit="streams") == 1
        assert metrics.value("forewarn_control_connections") >= 33
        assert service.request("DELETE", "/v1/tokens/team").status == 204
        for stream in streams:
            stream.read()  # to its end


def test_ended_streams_do_not_count(team: RunningService) -> None:
    with ExitStack() as stack:
        open_streams(team, stack)
    until(lambda: can_follow(team))


def can_follow(client: RunningService) -> bool:
    try:
        with following(client):
            return True
    except HTTPError as error:
        with error:
            return False


def test_group_token_sees_only_its_own_limits(
    service: RunningService, team: RunningService
) -> None:
    other = client_with_token(service, "others", "group", group="db")
    with ExitStack() as stack:
        open_streams(team, stack)
        assert team.request("GET", "/v1/stream").status == 429
        with following(other, "?also=limits") as stream:
            (event,) = read_stream(stream, 1)
        assert json.loads(event["data"]) == {"items": []}


def half_sent(service: RunningService, path: str) -> HTTPConnection:
    """Send a request whose body is missing; return when its token was accepted."""
    connection = HTTPConnection(urlsplit(service.control).netloc, timeout=PATIENCE)
    connection.putrequest("POST", path)
    connection.putheader("Authorization", f"Bearer {service.token}")
    connection.putheader("Content-Length", "2")
    connection.putheader("Expect", "100-continue")
    connection.endheaders()
    assert connection.sock.recv(65536).startswith(b"HTTP/1.1 100 ")
    return connection


def test_requests_of_a_token_are_limited_but_not_those_for_health(
    service: RunningService, team: RunningService
) -> None:
    with ExitStack() as stack:
        for _ in range(16):
            connection = half_sent(team, "/v1/vms/web-0/restart")
            stack.callback(connection.close)
        answer = team.request("POST", "/v1/vms/web-0/restart", {})
        assert answer.status == 429
        assert "token team already has the maximum of 16 open requests" in answer.detail
        assert team.request("GET", "/healthz").status == 200
        assert service.request("DELETE", "/v1/tokens/team").status == 204
