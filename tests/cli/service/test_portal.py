"""Tests of `forewarn portal`."""

import json

import pytest
from tests.cli.support.command_line import Cli
from tests.cli.support.service import Service

from forewarn.cli import main

Capture = pytest.CaptureFixture[str]

OPS: dict[str, object] = {"name": "ops", "role": "operator", "group": None, "may": []}


def test_portal_url_and_token_are_printed(service: Service, run: Cli) -> None:
    service.respond("GET", "/v1/session", OPS)
    assert [line.split() for line in run("portal").splitlines()] == [
        ["portal", f"{service.url}/portal/"],
        ["token", "secret"],
        ["signs", "in", "as", "ops", "(role:", "operator)"],
    ]


def test_portal_prints_json(service: Service, run: Cli) -> None:
    service.respond("GET", "/v1/session", OPS)
    assert json.loads(run("portal --json")) == {
        "portal": f"{service.url}/portal/",
        "token": "secret",
        "name": "ops",
        "role": "operator",
    }


def test_rejected_token_is_not_printed(service: Service, capsys: Capture) -> None:
    service.refuse("GET", "/v1/session", 401, "unknown token")
    assert main.main(["portal"]) == 1
    captured = capsys.readouterr()
    assert "secret" not in captured.out + captured.err
    assert "unknown token" in captured.err
