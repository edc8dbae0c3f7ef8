"""Options, and the environment variables that replace them."""

import pytest
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
    service: Service, monkeypatch: Patch, capsys: Capture
) -> None:
    service.respond("GET", "/v1/maintenances", page())
    monkeypatch.setenv("FOREWARN_JSON", "Yes")
    assert main.main(["events", "list"]) == 0
    assert capsys.readouterr().out == "[]\n"


def test_switch_can_be_turned_off_in_the_environment(
    service: Service, monkeypatch: Patch, capsys: Capture
) -> None:
    service.respond("GET", "/v1/maintenances", page())
    monkeypatch.setenv("FOREWARN_JSON", "off")
    assert main.main(["events", "list"]) == 0
    assert capsys.readouterr().out == "nothing is announced or under way\n"


def test_invalid_switch_value_is_wrong_usage(
    monkeypatch: Patch, capsys: Capture
) -> None:
    monkeypatch.setenv("FOREWARN_ALL", "perhaps")
    assert main.main(["events", "list"]) == 2
    message = 'forewarn: $FOREWARN_ALL: expected true or false, not "perhaps"\n'
    assert capsys.readouterr().err == message


def test_typed_options_win_over_the_environment(
    service: Service, monkeypatch: Patch
) -> None:
    service.respond("GET", "/v1/maintenances", page())
    monkeypatch.setenv("FOREWARN_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("FOREWARN_TOKEN", "theirs")
    words = ["events", "list", "--json", "--url", service.url, "--token", "mine"]
    assert main.main(words) == 0
    assert service.requests[0].headers["Authorization"] == "Bearer mine"


def test_typed_target_hides_the_one_in_the_environment(
    service: Service, monkeypatch: Patch
) -> None:
    service.respond("POST", "/v1/maintenances", {"maintenances": []}, 201)
    monkeypatch.setenv("FOREWARN_HOST", "host-a")
    assert main.main(["announce", "reboot", "--vm", "web-0", "--json"]) == 0
    assert service.only("POST").body == {"type": "Reboot", "vms": ["web-0"]}


def test_a_target_in_the_environment_is_enough(
    service: Service, monkeypatch: Patch
) -> None:
    service.respond("POST", "/v1/maintenances", {"maintenances": []}, 201)
    monkeypatch.setenv("FOREWARN_VM", "web-0, web-1")
    assert main.main(["announce", "reboot", "--json"]) == 0
    assert service.only("POST").body == {"type": "Reboot", "vms": ["web-0", "web-1"]}


def test_two_targets_in_the_environment_are_wrong_usage(
    monkeypatch: Patch, capsys: Capture
) -> None:
    monkeypatch.setenv("FOREWARN_HOST", "host-a")
    monkeypatch.setenv("FOREWARN_GROUP", "web")
    assert main.main(["announce", "reboot"]) == 2
    assert "$FOREWARN_HOST and $FOREWARN_GROUP exclude" in capsys.readouterr().err


def test_empty_variable_counts_as_unset(
    service: Service, monkeypatch: Patch, capsys: Capture
) -> None:
    service.respond("GET", "/v1/maintenances", page(a_maintenance()))
    monkeypatch.setenv("FOREWARN_ALL", "")
    assert main.main(["events", "list", "--json"]) == 0
    query = service.requests[0].query
    assert ("phase", "SCHEDULED") in query
    assert ("phase", "STARTED") in query


def test_a_wrong_value_names_its_variable(monkeypatch: Patch, capsys: Capture) -> None:
    monkeypatch.setenv("FOREWARN_NOTICE", "soon")
    assert main.main(["announce", "reboot", "--vm", "web-0"]) == 2
    assert capsys.readouterr().err == (
        "forewarn: $FOREWARN_NOTICE: 'soon' is not a duration; write 90, 90s, 20m,"
        " 1h30m, 1d or 250ms\n"
    )


@pytest.mark.parametrize("words", [[], ["frob"], ["events"], ["events", "frob"]])
def test_missing_or_unknown_command_is_wrong_usage(
    words: list[str], capsys: Capture
) -> None:
    assert main.main(words) == 2
    assert "usage: forewarn" in capsys.readouterr().err
