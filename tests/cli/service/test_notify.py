"""Tests of `forewarn notify`: targets, and whether a webhook works."""

import json
from collections.abc import Iterator

import pytest
from tests.cli.support.command_line import Cli
from tests.cli.support.samples import page
from tests.cli.support.service import Service
from tests.notifiers.receiver import Receiver, a_receiver, a_reply

IDLE: dict[str, object] = {
    "name": "ops",
    "kind": "webhook",
    "url": "https://ops.example",
    "position": 17,
    "behind": 0,
    "lag_seconds": 0.0,
    "state": "idle",
    "failures": 0,
    "last_error": None,
    "last_success": "2026-01-01T12:00:00Z",
    "next_attempt": None,
}
WAITING = {
    **IDLE,
    "name": "chat",
    "behind": 5,
    "lag_seconds": 75.2,
    "state": "waiting",
    "failures": 3,
    "last_error": "connection refused",
    "next_attempt": "2026-01-01T12:01:00Z",
}


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with a_receiver() as server:
        yield server


# --- list --------------------------------------------------------------------


def test_targets_are_listed(
    service: Service, run: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    service.respond("GET", "/v1/notifiers", page(IDLE, WAITING))
    header, first, second = run("notify list -o wide").splitlines()
    assert header.split()[:5] == ["NAME", "KIND", "POSITION", "BEHIND", "STATE"]
    assert first.split() == [
        "ops",
        "webhook",
        "17",
        "0",
        "idle",
        "2026-01-01",
        "12:00:00Z",
    ]
    assert "5, 1 min 15 s" in second
    assert "waiting until 2026-01-01 12:01:00Z" in second
    assert "3 failures: connection refused" in second


def test_targets_are_listed_as_json(service: Service, run: Cli) -> None:
    service.respond("GET", "/v1/notifiers", page(IDLE))
    assert json.loads(run("notify list --json")) == [IDLE]


def test_lag_below_a_second_still_counts_as_behind(service: Service, run: Cli) -> None:
    late = {**IDLE, "behind": 3, "lag_seconds": 0.4}
    service.respond("GET", "/v1/notifiers", page(late))
    _, line = run("notify list -o wide").splitlines()
    assert line.split()[:4] == ["ops", "webhook", "17", "3"]


def test_empty_list_of_targets_explains_how_to_add_one(
    service: Service, run: Cli
) -> None:
    service.respond("GET", "/v1/notifiers", page())
    assert "--webhook URL" in run("notify list")


# --- test --------------------------------------------------------------------


def test_notification_needs_no_service(receiver: Receiver, run: Cli) -> None:
    out = run(f"notify test {receiver.url}/hook --secret hush")
    (got,) = receiver.got
    assert got.event["type"] == "dev.forewarn.Test"
    assert got.event["specversion"] == "1.0"
    assert got.headers["Forewarn-Signature"].count("v1=") == 1
    assert out.startswith(f"{receiver.url} returned 204 No Content after ")
    assert out.endswith(" ms\n")


def test_the_secret_may_be_in_the_environment(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    run("notify test", receiver.url)
    monkeypatch.setenv("FOREWARN_SECRET", "hush")
    run("notify test", receiver.url)
    signed = ["Forewarn-Signature" in request.headers for request in receiver.got]
    assert signed == [False, True]


def test_a_refusal_is_shown(receiver: Receiver, run: Cli) -> None:
    receiver.reply = a_reply(401, "who are you?")
    message = run("notify test", receiver.url, code=1)
    assert f"{receiver.url} returned 401 Unauthorized: who are you? (after" in message


def test_unreachable_target_is_an_error_message(run: Cli) -> None:
    message = run("notify test", "http://127.0.0.1:1/x?key=hush", code=1)
    assert message.startswith(
        "forewarn: http://127.0.0.1:1 refused the connection (after"
    )


def test_invalid_url_is_wrong_usage(run: Cli) -> None:
    assert "expected a URL such as" in run("notify test ops.example", code=2)


@pytest.mark.parametrize(("status", "code"), [(204, 0), (500, 1)])
def test_result_as_json(receiver: Receiver, run: Cli, status: int, code: int) -> None:
    receiver.reply = a_reply(status)
    result = json.loads(run("notify test --json", receiver.url, code=code))
    assert (result["status"], result["delivered"]) == (status, code == 0)
    assert result["url"] == receiver.url
    assert result["seconds"] >= 0


def test_unreachable_target_as_json(run: Cli) -> None:
    result = json.loads(run("notify test http://127.0.0.1:1 --json", code=1))
    assert (result["status"], result["delivered"]) == (None, False)
    assert result["message"] == "http://127.0.0.1:1 refused the connection"
