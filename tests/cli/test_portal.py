"""`forewarn portal`."""

import json

import pytest
from tests.cli.service import Service

from forewarn import cli

Capture = pytest.CaptureFixture[str]

OPS: dict[str, object] = {"name": "ops", "role": "operator", "group": None, "may": []}


def test_the_portal_and_the_token_are_told(service: Service, capsys: Capture) -> None:
    service.answers("GET", "/v1/session", OPS)
    assert cli.main(["portal"]) == 0
    assert [line.split() for line in capsys.readouterr().out.splitlines()] == [
        ["portal", f"{service.url}/portal/"],
        ["token", "secret"],
        ["of", "ops,", "operator"],
    ]


def test_programs_are_told_in_json(service: Service, capsys: Capture) -> None:
    service.answers("GET", "/v1/session", OPS)
    assert cli.main(["portal", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "portal": f"{service.url}/portal/",
        "token": "secret",
        "name": "ops",
        "role": "operator",
    }


def test_a_token_that_opens_nothing_is_not_told(
    service: Service, capsys: Capture
) -> None:
    service.refuses("GET", "/v1/session", 401, "the token is not known")
    assert cli.main(["portal"]) == 1
    said = capsys.readouterr()
    assert "secret" not in said.out + said.err
    assert "the token is not known" in said.err
