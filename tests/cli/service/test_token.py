"""Tests of `forewarn token`."""

import pytest
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
    service.set_clock("2026-01-01T12:00:00Z")
    service.respond("POST", "/v1/tokens", {**MADE, "token": "fw_1f2e_x"}, 201)
    words = ["token", "create", "ci", "--role", "Viewer", "--expires", "1d"]
    assert main.main(words) == 0
    captured = capsys.readouterr()
    assert captured.out == "fw_1f2e_x\n"
    assert "token ci, viewer, good until 2026-01-02 12:00:00Z (in 1d)" in captured.err
    body = {"name": "ci", "role": "viewer", "expires_in_seconds": 86_400}
    assert service.only("POST").body == body


def test_no_token_is_created_that_could_not_be_shown(service: Service) -> None:
    service.refuse("GET", "/v1/clock", 503, "the store is away")
    service.respond("POST", "/v1/tokens", {**MADE, "token": "fw_1f2e_x"}, 201)
    assert main.main(["token", "create", "ci", "--role", "viewer"]) == 1
    assert [request.method for request in service.requests] == ["GET"]


def test_token_of_a_group_needs_no_role(service: Service, capsys: Capture) -> None:
    service.set_clock("2026-01-01T12:00:00Z")
    token = {**MADE, "role": "group", "group": "web", "expires_at": None, "token": "t"}
    service.respond("POST", "/v1/tokens", token, 201)
    assert main.main(["token", "create", "ci", "--group", "web"]) == 0
    body = {"name": "ci", "role": "group", "group": "web"}
    assert service.only("POST").body == body
    assert "group web, good until it is revoked" in capsys.readouterr().err


def test_a_token_may_expire_at_a_time(service: Service) -> None:
    service.respond("POST", "/v1/tokens", {**MADE, "token": "t"}, 201)
    words = ["--role", "admin", "--expires", "2026-01-31T12:00:00Z", "--json"]
    assert main.main(["token", "create", "ci", *words]) == 0
    assert service.only("POST").body == {
        "name": "ci",
        "role": "admin",
        "expires_at": "2026-01-31T12:00:00+00:00",
    }


@pytest.mark.parametrize("words", [[], ["--role", "king"], ["--expires", "soon"]])
def test_token_without_a_valid_role_is_wrong_usage(
    words: list[str], capsys: Capture
) -> None:
    assert main.main(["token", "create", "ci", *words]) == 2
    assert capsys.readouterr().err


def test_tokens_are_listed(service: Service, capsys: Capture) -> None:
    service.set_clock("2026-01-01T13:00:00Z")
    team = {**MADE, "name": "team", "role": "group", "group": "web"}
    used = {**team, "expires_at": None, "last_used": "2026-01-01T12:59:00Z"}
    service.respond("GET", "/v1/tokens", {"items": [MADE, used], "next": None})
    assert main.main(["token", "list"]) == 0
    text = capsys.readouterr().out
    assert max(map(len, text.splitlines())) <= 80
    assert "ci    viewer" in text
    assert "group web" in text
    assert "never" in text


def test_no_tokens_are_reported_as_such(service: Service, capsys: Capture) -> None:
    service.respond("GET", "/v1/tokens", {"items": [], "next": None})
    assert main.main(["token", "list"]) == 0
    assert "No tokens but admin" in capsys.readouterr().out


def test_a_token_is_revoked_by_name(service: Service, capsys: Capture) -> None:
    service.respond("DELETE", "/v1/tokens/ci", None)
    assert main.main(["token", "revoke", "ci"]) == 0
    assert capsys.readouterr().out == "Token ci is revoked.\n"


def test_reason_for_rejecting_a_token_is_shown(
    service: Service, capsys: Capture
) -> None:
    service.refuse("GET", "/v1/clock", 401, "the token has expired; ask for a new one")
    assert main.main(["clock", "show", "--token", "t"]) == 1
    assert "the token has expired" in capsys.readouterr().err
