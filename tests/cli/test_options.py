"""Options, and the environment variables that replace them."""

import pytest
from tests.cli.support.command_line import Cli
from tests.cli.support.samples import a_maintenance, page
from tests.cli.support.service import Service

Patch = pytest.MonkeyPatch


@pytest.mark.parametrize(
    ("value", "shown"),
    [("Yes", "[]\n"), ("off", "no scheduled or started maintenance operations\n")],
)
def test_switch_can_be_set_in_the_environment(
    service: Service, monkeypatch: Patch, run: Cli, value: str, shown: str
) -> None:
    service.respond("GET", "/v1/maintenances", page())
    monkeypatch.setenv("FOREWARN_JSON", value)
    assert run("events list") == shown


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("ALL", "perhaps", 'expected true or false, not "perhaps"'),
        ("URL", "soon", "'soon' is not a URL; for example, http://"),
    ],
)
def test_a_wrong_value_names_its_variable(
    monkeypatch: Patch, run: Cli, variable: str, value: str, said: str
) -> None:
    monkeypatch.setenv(f"FOREWARN_{variable}", value)
    message = f"forewarn: $FOREWARN_{variable}: {said}"
    assert run("events list", code=2).startswith(message)


def test_typed_options_override_the_environment(
    service: Service, monkeypatch: Patch, run: Cli
) -> None:
    service.respond("GET", "/v1/maintenances", page())
    monkeypatch.setenv("FOREWARN_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("FOREWARN_TOKEN", "theirs")
    run(f"events list --json --url {service.url} --token mine")
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
    message = run("announce reboot", code=2)
    assert "$FOREWARN_HOST and $FOREWARN_GROUP cannot be used together" in message


def test_empty_variable_counts_as_unset(
    service: Service, monkeypatch: Patch, run: Cli
) -> None:
    service.respond("GET", "/v1/maintenances", page(a_maintenance()))
    monkeypatch.setenv("FOREWARN_ALL", "")
    run("events list --json")
    phases = [value for name, value in service.requests[0].query if name == "phase"]
    assert phases == ["SCHEDULED", "STARTED"]


@pytest.mark.parametrize("line", ["", "frob", "events", "events frob"])
def test_missing_or_unknown_command_is_wrong_usage(line: str, run: Cli) -> None:
    assert "usage: forewarn" in run(line, code=2)
