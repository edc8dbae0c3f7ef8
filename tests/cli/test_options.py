"""Options, and the environment variables that replace them."""

import pytest
from tests.cli.support.command_line import Cli
from tests.cli.support.samples import a_maintenance, page
from tests.cli.support.service import Service

from forewarn.cli import main

Capture = pytest.CaptureFixture[str]
Patch = pytest.MonkeyPatch

COMMANDS = [
    "announce",
    "clock advance",
    "clock show",
    "events approve",
    "events cancel",
    "events close",
    "events complete",
    "events list",
    "events retry",
    "events show",
    "fleet apply",
    "fleet export",
    "fleet show",
    "journal",
    "report",
]


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_every_command_has_an_example(command: str, capsys: Capture) -> None:
    assert main.main([*command.split(), "--help"]) == 0
    text = capsys.readouterr().out
    assert f"example:\n  forewarn {command}" in text
    for variable in ("$FOREWARN_URL", "$FOREWARN_TOKEN", "$FOREWARN_JSON"):
        assert variable in text
    assert max(map(len, text.splitlines())) <= 80


def test_switch_can_be_turned_on_in_the_environment(
    service: Service, monkeypatch: Patch, run: Cli
) -> None:
    service.respond("GET", "/v1/maintenances", page())
    monkeypatch.setenv("FOREWARN_JSON", "Yes")
    assert run("events list") == "[]\n"


def test_switch_can_be_turned_off_in_the_environment(
    service: Service, monkeypatch: Patch, run: Cli
) -> None:
    service.respond("GET", "/v1/maintenances", page())
    monkeypatch.setenv("FOREWARN_JSON", "off")
    assert run("events list") == "nothing is announced or under way\n"


def test_invalid_switch_value_is_wrong_usage(monkeypatch: Patch, run: Cli) -> None:
    monkeypatch.setenv("FOREWARN_ALL", "perhaps")
    assert run("events list", code=2) == (
        "forewarn: $FOREWARN_ALL: 'perhaps' is neither 1, true, yes, on nor 0, false,"
        " no, off\n"
    )


def test_typed_options_win_over_the_environment(
    service: Service, monkeypatch: Patch, run: Cli
) -> None:
    service.respond("GET", "/v1/maintenances", page())
    monkeypatch.setenv("FOREWARN_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("FOREWARN_TOKEN", "theirs")
    words = ["events", "list", "--json", "--url", service.url, "--token", "mine"]
    run(*words)
    assert service.requests[0].headers["Authorization"] == "Bearer mine"


def test_typed_target_hides_the_one_in_the_environment(
    service: Service, monkeypatch: Patch, run: Cli
) -> None:
    service.respond("POST", "/v1/maintenances", {"maintenances": []}, 201)
    monkeypatch.setenv("FOREWARN_HOST", "host-a")
    run("announce reboot --vm web-0 --json")
    assert service.only("POST").body == {"type": "Reboot", "vms": ["web-0"]}


def test_a_target_in_the_environment_is_enough(
    service: Service, monkeypatch: Patch, run: Cli
) -> None:
    service.respond("POST", "/v1/maintenances", {"maintenances": []}, 201)
    monkeypatch.setenv("FOREWARN_VM", "web-0, web-1")
    run("announce reboot --json")
    assert service.only("POST").body == {"type": "Reboot", "vms": ["web-0", "web-1"]}


def test_two_targets_in_the_environment_are_wrong_usage(
    monkeypatch: Patch, run: Cli
) -> None:
    monkeypatch.setenv("FOREWARN_HOST", "host-a")
    monkeypatch.setenv("FOREWARN_GROUP", "web")
    assert "$FOREWARN_HOST and $FOREWARN_GROUP exclude" in run(
        "announce reboot", code=2
    )


def test_empty_variable_counts_as_unset(
    service: Service, monkeypatch: Patch, run: Cli
) -> None:
    service.respond("GET", "/v1/maintenances", page(a_maintenance()))
    monkeypatch.setenv("FOREWARN_ALL", "")
    run("events list --json")
    query = service.requests[0].query
    assert ("phase", "SCHEDULED") in query
    assert ("phase", "STARTED") in query


def test_a_wrong_value_names_its_variable(monkeypatch: Patch, run: Cli) -> None:
    monkeypatch.setenv("FOREWARN_NOTICE", "soon")
    assert run("announce reboot --vm web-0", code=2) == (
        "forewarn: $FOREWARN_NOTICE: 'soon' is not a duration; write 90, 90s, 20m,"
        " 1h30m or 1d\n"
    )


@pytest.mark.parametrize("line", ["", "frob", "events", "events frob"])
def test_missing_or_unknown_command_is_wrong_usage(line: str, run: Cli) -> None:
    assert "usage: forewarn" in run(line, code=2)
