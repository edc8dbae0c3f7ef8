"""Tests of `forewarn portal`."""

import json

import pytest
from tests.cli.support.command_line import Cli
from tests.cli.support.service import Service

from forewarn.cli import main
from forewarn.cli.service import portal

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


# --- sign-in links -----------------------------------------------------------

LINK = {"path": "/portal/#sign-in=c0de", "expires_in_seconds": 60}


@pytest.fixture
def linked(service: Service, monkeypatch: pytest.MonkeyPatch) -> Service:
    """Return a service that creates links, used in a session without a screen."""
    service.respond("GET", "/v1/session", OPS)
    service.respond("POST", "/v1/portal/links", LINK, 201)
    for name in ("BROWSER", "DISPLAY", "WAYLAND_DISPLAY", "SSH_CONNECTION"):
        monkeypatch.delenv(name, raising=False)
    return service


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the URLs that commands open in a browser."""
    urls: list[str] = []

    def open_url(url: str) -> bool:
        urls.append(url)
        return True

    monkeypatch.setattr("webbrowser.open", open_url)
    return urls


def test_link_is_printed_alone(linked: Service, run: Cli, opened: list[str]) -> None:
    assert run("portal --link") == f"{linked.url}/portal/#sign-in=c0de\n"
    assert opened == []


def test_link_is_opened_in_a_browser(
    linked: Service, run: Cli, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROWSER", "some-browser")
    output = run("portal --open")
    assert output == (
        "Opened the portal in your browser, signed in as ops (role: operator).\n"
    )
    assert opened == [f"{linked.url}/portal/#sign-in=c0de"]


def test_without_a_screen_the_link_is_printed(
    linked: Service, run: Cli, opened: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSH_CONNECTION", "192.0.2.7 50000 192.0.2.1 22")
    monkeypatch.setenv("USER", "ada")
    output = run("portal --open")
    port = linked.url.rpartition(":")[2]
    assert f"\n  {linked.url}/portal/#sign-in=c0de\n" in output
    assert f"\n  ssh -N -L {port}:127.0.0.1:{port} ada@192.0.2.1\n" in output
    assert "secret" not in output
    assert opened == []


def test_link_is_printed_as_json(linked: Service, run: Cli) -> None:
    assert json.loads(run("portal --open -o json")) == {
        "link": f"{linked.url}/portal/#sign-in=c0de",
        "expires_in_seconds": 60,
        "opened": False,
        "name": "ops",
        "role": "operator",
    }


def test_older_service_has_no_links(service: Service, run: Cli) -> None:
    service.respond("GET", "/v1/session", OPS)
    assert "does not support sign-in links" in run("portal --link", code=1)


@pytest.mark.parametrize(
    ("environment", "platform", "has"),
    [
        ({}, "linux", False),
        ({"DISPLAY": ":0"}, "linux", True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, "linux", True),
        ({"BROWSER": "firefox", "SSH_CONNECTION": "a 1 b 2"}, "linux", True),
        ({}, "darwin", True),
        ({"SSH_CONNECTION": "a 1 b 2"}, "darwin", False),
    ],
)
def test_screen_is_found(environment: dict[str, str], platform: str, has: bool) -> None:
    assert portal.has_screen(environment, platform) is has


@pytest.mark.parametrize(
    ("url", "command"),
    [
        ("https://[::1]/portal/", "ssh -N -L 443:[::1]:443 192.0.2.1"),
        ("https://ops.example:8255/portal/", None),
    ],
)
def test_only_loopback_is_forwarded(url: str, command: str | None) -> None:
    environment = {"SSH_CONNECTION": "192.0.2.7 50000 192.0.2.1 22"}
    assert portal.forward_command(url, environment) == command
