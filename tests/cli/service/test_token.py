"""Tests of `forewarn token`."""

import pytest
from tests.cli.support.command_line import Cli
from tests.cli.support.service import Service

from forewarn.cli import main

Capture = pytest.CaptureFixture[str]

MADE = {
    "id": "1f2e",
    "name": "ci",
    "role": "viewer",
    "group": None,
    "created_at": "2026-01-01T12:00:00Z",
    "created_by": "admin",
    "expires_at": "2026-01-02T12:00:00Z",
    "last_used": None,
}


def test_new_token_is_alone_on_standard_output(
    service: Service, capsys: Capture
) -> None:
    service.respond("POST", "/v1/tokens", {**MADE, "token": "fw_1f2e_x"}, 201)
    assert (
        main.main(["token", "create", "ci", "--role", "Viewer", "--expires", "1d"]) == 0
    )
    captured = capsys.readouterr()
    assert captured.out == "fw_1f2e_x\n"
    assert (
        "token ci (viewer), valid until 2026-01-02 12:00:00Z (in 1 d)" in captured.err
    )
    body = {"name": "ci", "role": "viewer", "expires_in_seconds": 86_400}
    assert service.only("POST").body == body


def test_no_token_is_created_if_the_service_is_not_ready(
    service: Service, run: Cli
) -> None:
    service.refuse("GET", "/v1/clock", 503, "the store is away")
    service.respond("POST", "/v1/tokens", {**MADE, "token": "fw_1f2e_x"}, 201)
    run("token create ci --role viewer", code=1)
    assert [request.method for request in service.requests] == ["GET"]


def test_token_of_a_group_needs_no_role(service: Service, capsys: Capture) -> None:
    token = {**MADE, "role": "group", "group": "web", "expires_at": None, "token": "t"}
    service.respond("POST", "/v1/tokens", token, 201)
    assert main.main(["token", "create", "ci", "--group", "web"]) == 0
    body = {"name": "ci", "role": "group", "group": "web"}
    assert service.only("POST").body == body
    assert "(group web), valid until revoked" in capsys.readouterr().err


def test_a_token_may_expire_at_a_time(service: Service, run: Cli) -> None:
    service.respond("POST", "/v1/tokens", {**MADE, "token": "t"}, 201)
    run("token create ci --role admin --expires 2026-01-31T12:00:00Z --json")
    assert service.only("POST").body == {
        "name": "ci",
        "role": "admin",
        "expires_at": "2026-01-31T12:00:00+00:00",
    }


@pytest.mark.parametrize("words", ["", "--role king", "--expires soon"])
def test_token_without_a_valid_role_is_wrong_usage(words: str, run: Cli) -> None:
    assert run(f"token create ci {words}", code=2)


def test_tokens_are_listed(service: Service, run: Cli) -> None:
    service.set_clock("2026-01-01T13:00:00Z")
    team = {**MADE, "name": "team", "role": "group", "group": "web"}
    used = {**team, "expires_at": None, "last_used": "2026-01-01T12:59:00Z"}
    service.respond("GET", "/v1/tokens", {"items": [MADE, used], "next": None})
    text = run("token list")
    assert max(map(len, text.splitlines())) <= 80
    assert "ci    viewer" in text
    assert "group web" in text
    assert "never" in text


def test_list_without_tokens_prints_a_message(service: Service, run: Cli) -> None:
    service.respond("GET", "/v1/tokens", {"items": [], "next": None})
    assert "No tokens except the admin token" in run("token list")


def test_a_token_is_revoked_by_name(service: Service, run: Cli) -> None:
    service.respond("DELETE", "/v1/tokens/ci", None)
    assert run("token revoke ci --yes") == "Revoked token ci.\n"


def test_unknown_token_among_several_revokes_none(service: Service, run: Cli) -> None:
    service.respond("GET", "/v1/tokens", {"items": [MADE], "next": None})
    assert run("token revoke ci cii --yes", code=1) == (
        "forewarn: token cii not found; did you mean ci?\n"
        "forewarn: nothing was changed\n"
    )
    assert [request.method for request in service.requests] == ["GET"]


def test_several_tokens_are_revoked(service: Service, run: Cli) -> None:
    items = [MADE, {**MADE, "name": "cd", "id": "2"}]
    service.respond("GET", "/v1/tokens", {"items": items, "next": None})
    for name in ("ci", "cd"):
        service.respond("DELETE", f"/v1/tokens/{name}", None)
    out = run("token revoke ci cd ci --yes")
    assert out == "Revoked token ci.\nRevoked token cd.\n"


def test_limited_tokens_are_listed(service: Service, run: Cli) -> None:
    items = [MADE, {**MADE, "name": "team", "refused": 12}]
    service.respond("GET", "/v1/tokens", {"items": items, "next": None})
    text = run("token list")
    assert "limited: token team: 12 requests rejected recently" in text
    assert text.count("limited") == 1
