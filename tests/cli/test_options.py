"""Options, and the environment variables that replace them."""

import pytest
from tests.cli.support.command_line import Cli
from tests.cli.support.samples import page
from tests.cli.support.service import Service

Patch = pytest.MonkeyPatch


def test_format_can_be_set_in_the_environment(
    service: Service, monkeypatch: Patch, run: Cli
) -> None:
    service.respond("GET", "/v1/maintenances", page())
    monkeypatch.setenv("FOREWARN_OUTPUT", "json")
    assert run("maintenance list") == "[]\n"


def test_wrong_value_in_the_environment_names_its_variable(
    monkeypatch: Patch, run: Cli
) -> None:
    monkeypatch.setenv("FOREWARN_URL", "soon")
    assert run("maintenance list", code=2).startswith(
        "forewarn: $FOREWARN_URL: 'soon' is not a valid URL; for example, use http://"
    )


def test_typed_options_override_the_environment(
    service: Service, monkeypatch: Patch, run: Cli
) -> None:
    service.respond("GET", "/v1/maintenances", page())
    monkeypatch.setenv("FOREWARN_URL", "http://127.0.0.1:1")
    monkeypatch.setenv("FOREWARN_TOKEN", "theirs")
    run(f"maintenance list --json --url {service.url} --token mine")
    assert service.requests[0].headers["Authorization"] == "Bearer mine"


def test_repeated_option_takes_lists_and_never_the_next_word(
    service: Service, run: Cli
) -> None:
    service.respond("POST", "/v1/maintenances", {"maintenances": []}, 201)
    run("announce --vm web-0,web-1 --vm web-2 reboot --json")
    names = ["web-0", "web-1", "web-2"]
    assert service.only("POST").body == {"type": "Reboot", "vms": names}


def test_empty_variable_counts_as_unset(
    service: Service, monkeypatch: Patch, run: Cli
) -> None:
    service.respond("GET", "/v1/maintenances", page())
    monkeypatch.setenv("FOREWARN_OUTPUT", "")
    assert run("maintenance list") != "[]\n"


@pytest.mark.parametrize("line", ["", "vm", "clock", "help vm", "mnt", "events"])
def test_noun_alone_prints_its_help(line: str, run: Cli) -> None:
    shown = run(line)
    assert shown.startswith("usage: forewarn")
    assert max(map(len, shown.splitlines())) <= 80


@pytest.mark.parametrize(
    ("line", "message", "help_command"),
    [
        ("annouce", "unknown command 'annouce'; did you mean announce", "forewarn"),
        ("vm restrat", "unknown command 'restrat'; did you mean restart", "vm"),
        (
            "vm restart web-0 --durations 5s",
            "unknown option --durations; did you mean --duration",
            "vm restart",
        ),
        ("vm restart", "missing NAME", "vm restart"),
        ("journal --vm ''", "--vm: a value is missing", "journal"),
        ("announce reboot", "specify one of --vm, --host, --group", "announce"),
    ],
)
def test_usage_error_has_two_lines(
    line: str, message: str, help_command: str, run: Cli
) -> None:
    first, second = run(line, code=2).splitlines()
    assert message in first
    assert second.startswith("For help, run: forewarn")
    assert second.endswith(f"{help_command} --help")
