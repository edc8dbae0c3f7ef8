"""Tests of `forewarn context`, and of the service that commands choose."""

import json
import os
import stat
from pathlib import Path

import pytest
from tests.cli.support.command_line import Cli
from tests.cli.support.service import Service, a_service

from forewarn.cli import contexts
from forewarn.cli.contexts import ServiceContext, ServiceContexts

Patch = pytest.MonkeyPatch

OPS: dict[str, object] = {"name": "ops", "role": "operator", "group": None, "may": []}
URL = "https://ops.example:8255"


@pytest.fixture(autouse=True)
def home(monkeypatch: Patch, tmp_path: Path) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


@pytest.fixture
def file(home: Path) -> Path:
    return home / "config" / "forewarn" / "contexts.toml"


@pytest.fixture
def listener(service: Service, monkeypatch: Patch) -> Service:
    """A service that the environment does not name."""
    monkeypatch.delenv("FOREWARN_URL")
    monkeypatch.delenv("FOREWARN_TOKEN")
    service.respond("GET", "/v1/session", OPS)
    return service


def save(current: str = "local", **by_name: ServiceContext) -> None:
    contexts.save(ServiceContexts(current=current, by_name=by_name), os.environ)


def token_of(service: Service) -> str | None:
    return service.requests[-1].headers.get("Authorization")


# --- add ---------------------------------------------------------------------


def test_added_context_is_checked_and_then_used(
    listener: Service, home: Path, run: Cli
) -> None:
    (home / "token").write_text("fw_secret\n")
    path = str(home / "token")
    output = run(f"context add production --url {listener.url} --token-file", path)
    assert output == (
        "Saved context production: token ops (role: operator).\n"
        "To use it for all commands, run `forewarn context use production`.\n"
    )
    run("context use production")
    run("clock show")
    assert token_of(listener) == "Bearer fw_secret"


def test_only_the_user_can_read_the_file(run: Cli, file: Path) -> None:
    run(f"context add ops --url {URL} --token fw_secret --no-check")
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700


def test_token_is_read_from_standard_input(
    monkeypatch: Patch, home: Path, run: Cli
) -> None:
    (home / "token").write_text("fw_piped\n")
    with (home / "token").open() as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        run(f"context add ops --url {URL} --token-file - --no-check")
    assert contexts.load(os.environ).by_name["ops"].token == "fw_piped"


def test_end_of_the_input_at_the_prompt_saves_nothing(
    monkeypatch: Patch, run: Cli, file: Path
) -> None:
    def end(prompt: str) -> str:
        raise EOFError

    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("forewarn.cli.setup.context.getpass", end)
    message = run(f"context add ops --url {URL} --no-check", code=1)
    assert message == "\nforewarn: nothing was saved\n"
    assert not file.exists()


def test_rejected_token_saves_nothing(listener: Service, run: Cli, file: Path) -> None:
    listener.replies.clear()
    listener.refuse("GET", "/v1/session", 401, "unknown token")
    message = run(f"context add ops --url {listener.url} --token x", code=1)
    assert message == (
        f"forewarn: {listener.url} rejected the token. Nothing was saved; to save the"
        " context anyway, add --no-check\n"
    )
    assert not file.exists()


def test_existing_context_is_replaced_only_on_request(run: Cli) -> None:
    save(ops=ServiceContext(url=URL, token="old"))
    message = run(f"context add ops --url {URL} --token new --no-check", code=2)
    assert "context 'ops' already exists; to replace it, add --replace" in message
    run(f"context add ops --url {URL} --token new --no-check --replace")
    assert contexts.load(os.environ).by_name["ops"].token == "new"


def test_directory_that_cannot_be_searched_contains_no_contexts(
    home: Path, monkeypatch: Patch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ("x" * 300)))  # even for root
    assert contexts.load(os.environ) == ServiceContexts()


@pytest.mark.parametrize("name", ["\U0001f511.pem", 'a "b" \\ c.pem', "\u00e9.pem"])
def test_any_path_is_read_back(name: str, home: Path) -> None:
    context = ServiceContext(url=URL, ca=str(home / name))
    save(ops=context)
    assert contexts.load(os.environ).by_name == {"ops": context}


def test_authority_is_found_from_every_directory(
    run: Cli, home: Path, monkeypatch: Patch
) -> None:
    monkeypatch.chdir(home)
    run(f"context add ops --url {URL} --token x --ca ca.pem --no-check")
    assert contexts.load(os.environ).by_name["ops"].ca == str(home / "ca.pem")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("ops", "--url URL"),
        (f"ops --url {URL}", "specify the token with --token-file FILE"),
        (f"ops --url {URL} --token-file /nowhere", "cannot read /nowhere"),
        (f"ops --url {URL} --token-file {os.devnull}", "is empty"),
        (f"ops --url {URL} --token é", "invalid characters"),
        (f"ops --url {URL} --token x --ca \udcff", "the path is not valid UTF-8"),
        (f"local --url {URL} --token x", "cannot be the name of a context"),
        (f"a/b --url {URL} --token x", "cannot be the name of a context"),
    ],
)
def test_wrong_usage_saves_nothing(
    words: str, expected: str, run: Cli, file: Path
) -> None:
    assert expected in run(f"context add {words}", code=2)
    assert not file.exists()


# --- use, list, show and remove ----------------------------------------------


def test_no_command_prints_a_token(run: Cli, monkeypatch: Patch) -> None:
    save("ops", ops=ServiceContext(url=URL, token="fw_secret"))
    monkeypatch.setenv("FOREWARN_TOKEN", "fw_other")
    for command in ("list", "show", "show ops", "use ops", "remove ops"):
        for form in ("table", "json", "yaml", "name"):
            save("ops", ops=ServiceContext(url=URL, token="fw_secret"))
            output = run(f"context {command} -o {form}")
            assert output
            assert "fw_" not in output


def test_list_marks_the_current_context(run: Cli) -> None:
    save("ops", ops=ServiceContext(url=URL, token="x"), lab=ServiceContext(url=URL))
    assert run("context list").splitlines() == [
        "CURRENT  NAME   URL                       TOKEN",
        "         local  http://127.0.0.1:8255     none",
        f"*        ops    {URL}  saved",
        f"         lab    {URL}  none",
    ]


def test_variable_that_takes_precedence_is_noted(run: Cli, monkeypatch: Patch) -> None:
    save(ops=ServiceContext(url=URL))
    monkeypatch.setenv("FOREWARN_URL", "http://127.0.0.1:9")
    note = (
        "note: $FOREWARN_URL is set to http://127.0.0.1:9, and takes precedence over"
        " the\n    current context\n"
    )
    assert run("context list").endswith(note)
    assert run("context use ops").endswith(note)


def test_show_names_the_source_of_every_part(run: Cli, monkeypatch: Patch) -> None:
    save("ops", ops=ServiceContext(url=URL, token="x"))
    shown = json.loads(run("context show -o json"))
    assert (shown["name"], shown["source"]) == ("ops", "the current context")
    assert shown["token_source"] == "context ops"
    monkeypatch.setenv("FOREWARN_URL", "http://127.0.0.1:9")
    monkeypatch.setenv("FOREWARN_TOKEN", "y")
    shown = json.loads(run("context show -o json"))
    assert (shown["name"], shown["source"]) == (None, "$FOREWARN_URL")
    assert shown["url"] == "http://127.0.0.1:9"
    assert shown["token_source"] == "$FOREWARN_TOKEN"


def test_removed_context_is_no_longer_current(run: Cli) -> None:
    save("ops", ops=ServiceContext(url=URL))
    assert run("context remove ops") == (
        "Removed context ops.\nCommands now use the local service.\n"
    )
    assert contexts.load(os.environ) == ServiceContexts()


@pytest.mark.parametrize("command", ["use", "show", "remove"])
def test_unknown_context_is_reported_with_a_suggestion(command: str, run: Cli) -> None:
    save(production=ServiceContext(url=URL))
    message = run(f"context {command} productoin", code=2)
    assert "unknown context 'productoin'" in message
    assert "production" in message.replace("productoin", "")


# --- which service a command uses --------------------------------------------


def test_flag_takes_precedence_over_variable_over_context_over_local(
    service: Service, home: Path, run: Cli, monkeypatch: Patch
) -> None:
    (home / "state").mkdir()
    (home / "state" / "token").write_text("local")
    with a_service() as flag, a_service() as context, a_service() as local:
        (home / "state" / "control-url").write_text(f"{local.url}\n")
        save(ops=ServiceContext(url=context.url, token="ops"))
        run(f"clock show --url {flag.url}")
        run("clock show")
        assert (len(flag.requests), len(service.requests)) == (1, 1)
        run("clock show --context ops")
        assert token_of(context) == "Bearer ops"  # not the one for $FOREWARN_URL
        monkeypatch.delenv("FOREWARN_URL")
        run("clock show --context local")
        assert token_of(local) == "Bearer local"
        monkeypatch.setenv("FOREWARN_CONTEXT", "ops")
        run("clock show")
        assert token_of(context) == "Bearer secret"
        run(f"clock show --url {flag.url} --token typed")
        assert token_of(flag) == "Bearer typed"


@pytest.mark.parametrize("is_typed", [True, False])
def test_two_choices_from_the_same_source_are_refused(
    is_typed: bool, run: Cli, monkeypatch: Patch
) -> None:
    save(ops=ServiceContext(url=URL))
    words = f" --url {URL} --context ops" if is_typed else ""
    monkeypatch.setenv("FOREWARN_CONTEXT", "ops")
    monkeypatch.setenv("FOREWARN_URL", URL)
    names = (
        ("--context", "--url")
        if is_typed
        else (
            "$FOREWARN_CONTEXT",
            "$FOREWARN_URL",
        )
    )
    message = run(f"clock show{words}", code=2)
    assert f"{names[0]} and {names[1]} cannot be used together" in message
