"""Tests of `forewarn faults`."""

import json

import pytest
from tests.cli.support.command_line import Cli
from tests.cli.support.service import Service

MADE: dict[str, object] = {
    "id": "f1",
    "kind": "503",
    "on": "any",
    "vms": [],
    "count": None,
    "left": None,
    "probability": 1.0,
    "duration_seconds": None,
    "left_seconds": None,
    "delay_seconds": None,
    "retry_after_seconds": 1,
    "set_by": "admin",
    "set_at": "2026-01-01T12:00:00Z",
}


def test_a_fault_is_set_by_its_kind(service: Service, run: Cli) -> None:
    service.respond("POST", "/v1/faults", MADE, 201)
    shown = "Fault f1: 503 for all VMs, until it is cleared.\n"
    assert run("faults add 503") == shown
    assert service.only("POST").body == {"kind": "503"}


def test_every_option_of_a_fault_is_sent(service: Service, run: Cli) -> None:
    limits = {"count": 3, "duration_seconds": 90.0, "probability": 0.25}
    service.respond("POST", "/v1/faults", {**MADE, **limits, "vms": ["web-0"]}, 201)
    output = run(
        "faults add 429 --vm web-0 --on READ --count 3 --probability .25"
        " --duration 1m30s --retry-after 7s"
    )
    assert "3 requests, for 1 min 30 s, with probability 0.25" in output
    assert service.only("POST").body == {
        "kind": "429",
        "vms": ["web-0"],
        "on": "read",
        "count": 3,
        "probability": 0.25,
        "duration_seconds": 90.0,
        "retry_after_seconds": 7,
    }


def test_the_duration_is_shown_as_given_and_the_rest_of_it_in_lists(
    service: Service, run: Cli
) -> None:
    made = {**MADE, "duration_seconds": 300.0, "left_seconds": 299.4}
    service.respond("POST", "/v1/faults", made, 201)
    service.respond("GET", "/v1/faults", {"items": [made], "next": None})
    added = run("faults add 503 --duration 5m")
    assert added == "Fault f1: 503 for all VMs, for 5 min.\n"
    assert "4 min 59 s more" in run("faults list")


def test_the_former_name_of_an_option_is_refused_with_its_new_name(run: Cli) -> None:
    shown = run("faults add 503 --for 5m", code=2)
    assert "unknown option --for; it is now called --duration" in shown


def test_a_delay_may_be_less_than_a_second(service: Service, run: Cli) -> None:
    service.respond("POST", "/v1/faults", MADE, 201)
    run("faults add slow --delay 250ms")
    assert service.only("POST").body == {"kind": "slow", "delay_seconds": 0.25}


@pytest.mark.parametrize(
    "words",
    [
        "",
        "404",
        "503 --probability often",
        "503 --duration ever",
        "503 --on write",
        "503 --count -1",
    ],
)
def test_invalid_fault_is_wrong_usage(words: str, run: Cli) -> None:
    assert run(f"faults add {words}", code=2)


def test_faults_are_listed_in_80_columns(service: Service, run: Cli) -> None:
    many = [f"a-rather-long-name-{number}" for number in range(9)]
    other = {**MADE, "id": "f2", "kind": "slow-first-call", "vms": many, "left": 1}
    service.respond("GET", "/v1/faults", {"items": [MADE, other], "next": None})
    text = run("faults list")
    assert max(map(len, text.splitlines())) <= 80
    assert "until it is cleared" in text
    assert "1 more" in text


def test_list_without_faults_prints_a_message(service: Service, run: Cli) -> None:
    service.respond("GET", "/v1/faults", {"items": [], "next": None})
    assert run("faults list") == "No active faults.\n"


def test_one_fault_or_all_are_cleared(service: Service, run: Cli) -> None:
    service.respond("DELETE", "/v1/faults/f1", None)
    service.respond("DELETE", "/v1/faults", None)
    assert run("faults clear f1") == "Cleared fault f1.\n"
    assert run("faults clear") == "Cleared all faults.\n"


def test_faults_commands_print_json(service: Service, run: Cli) -> None:
    service.respond("POST", "/v1/faults", MADE, 201)
    service.respond("GET", "/v1/faults", {"items": [MADE], "next": None})
    service.respond("DELETE", "/v1/faults/f1", None)
    assert json.loads(run("faults add 503 --json")) == MADE
    assert json.loads(run("faults list --json")) == [MADE]
    assert json.loads(run("faults clear f1 --json")) == {"cleared": "f1"}
