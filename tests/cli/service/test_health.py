"""Tests of `forewarn health`."""

import json

import pytest
from tests.cli.support.command_line import Cli
from tests.cli.support.service import Service, close_connection, text_reply

BEHIND = {"status": "not ready", "reason": "documents are behind the journal, at 7"}


def test_ready_service_is_healthy(service: Service, run: Cli) -> None:
    service.respond("GET", "/readyz", {"status": "ready"})
    assert run("health") == "ready\n"
    assert "Authorization" not in service.only("GET").headers


def test_reason_for_not_being_ready_is_shown_at_once(
    service: Service, run: Cli
) -> None:
    service.respond("GET", "/readyz", BEHIND, 503)
    message = "forewarn: not ready: documents are behind the journal, at 7\n"
    assert run("health", code=1) == message
    assert len(service.requests) == 1
    assert json.loads(run("health --json", code=1)) == BEHIND


def test_unreachable_service_is_not_ready(run: Cli) -> None:
    assert "not ready: cannot connect to" in run(
        "health --url http://127.0.0.1:1", code=1
    )


def test_wait_polls_until_the_service_is_ready(service: Service, run: Cli) -> None:
    for _ in range(2):  # a lost request is repeated once
        service.reply_with("GET", "/readyz", close_connection)
    service.respond("GET", "/readyz", BEHIND, 503)
    service.respond("GET", "/readyz", {"status": "ready"})
    assert run("health --wait 20s") == "ready\n"
    assert len(service.requests) == 4


def test_permanent_refusal_ends_the_wait(service: Service, run: Cli) -> None:
    service.refuse("GET", "/readyz", 421, "give --control-host forewarn")
    assert run("health --wait 1h", code=1) == (
        "forewarn: not ready: give --control-host forewarn\n"
    )


@pytest.mark.parametrize("text", ["<html></html>", "[]", '{"status": "ok"}'])
def test_another_program_at_the_address_is_not_ready(
    text: str, service: Service, run: Cli
) -> None:
    service.reply_with("GET", "/readyz", text_reply(text))
    assert "not ready: " in run("health", code=1)


def test_active_faults_are_shown(service: Service, run: Cli) -> None:
    faults = {"status": "ready", "faults": ["503", "slow-answer"]}
    service.respond("GET", "/readyz", faults)
    assert run("health") == ("ready, with injected faults: 503, slow-answer\n")


def test_warnings_are_shown(service: Service, run: Cli) -> None:
    warned = {"status": "ready", "warnings": ["time stands still until noon"]}
    service.respond("GET", "/readyz", warned)
    assert run("health") == "ready\nwarning: time stands still until noon\n"
