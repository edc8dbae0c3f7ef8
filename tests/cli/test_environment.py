"""Environment variables of options and of the service's settings.

New commands are found automatically. If a parser of values accepts none of the
`SAMPLES`, the failing test names the missing sample.
"""

import argparse
from collections.abc import Callable, Mapping

import pytest
from tests.cli.support.command_tree import Command, commands

from forewarn.cli.options import (
    FORMATS,
    SERVICE,
    Option,
    apply_environment,
    output_options,
)
from forewarn.config.load import SettingSources, load
from forewarn.config.settings import SETTINGS, Setting
from forewarn.errors import InvalidInput

COMMANDS = commands()
SERVE = "serve"

#: Values as users write them; each option is tested with the first one it accepts.
SAMPLES = (
    "7",
    "1000",
    "90s",
    "x60",
    "2026-01-31T12:15:00Z",
    "2026-01",
    "https://ops.example/hook",
    "http://127.0.0.1:7",
    "127.0.0.1:7",
    "192.0.2.1",
    "sqlite:///other.db",
    "text",
    "json",
    "debug",
    "reboot",
    "redeploy",
    "user",
    "viewer",
    "read",
    "Started",
    "rfc1123",
    "operator",
    "on",
    '{ key = "value" }',
    '[{ name = "ops", kind = "log" }]',
)

#: Settings that are only valid together with another setting.
COMPANIONS: Mapping[str, Mapping[str, object]] = {
    "tls_cert": {"tls_key": "key.pem"},
    "tls_key": {"tls_cert": "cert.pem"},
    "seed": {"store": "memory"},
    "webhook_secret": {"webhook": "https://ops.example/hook"},
}


def sample(read: Callable[[str], object]) -> str:
    """Return a sample that `read` accepts."""
    for text in SAMPLES:
        try:
            read(text)
        except (argparse.ArgumentTypeError, ValueError, InvalidInput):
            continue
        return text
    raise AssertionError(f"{read} accepts none of the samples; add one that it accepts")


# --- commands ----------------------------------------------------------------

#: The variables that commands read: of the connection, the output, a webhook's secret,
#: the service's store, and programs that run in a VM. No other option has a variable.
VARIABLES = {
    "FOREWARN_URL",
    "FOREWARN_TOKEN",
    "FOREWARN_CA",
    "FOREWARN_CONTEXT",
    "FOREWARN_OUTPUT",
    "FOREWARN_SECRET",
    "FOREWARN_ENDPOINT",
    "FOREWARN_AGENT_CONFIG",
    "FOREWARN_AGENT_STATE",
    "FOREWARN_STORE",
}

OPTIONS = {
    f"{command.name} {option.flag}": option
    for command in COMMANDS
    for option in command.options
}
WITH_VARIABLE = {name: option for name, option in OPTIONS.items() if option.variable}


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_every_flag_of_a_command_is_declared(command: Command) -> None:
    flags = {option.flag for option in command.options}
    if command.name == SERVE:
        own = [setting.option for setting in SETTINGS if setting.metavar is not None]
        flags |= {*own, "--config"}
    assert {*command.flags} == flags


def test_only_settings_of_the_connection_and_output_have_variables() -> None:
    assert {option.variable for option in WITH_VARIABLE.values()} <= VARIABLES


def test_no_variable_chooses_what_a_command_acts_on(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for option in OPTIONS.values():
        text = "yes" if option.switch else sample(option.read)
        monkeypatch.setenv(f"FOREWARN_{option.name.upper()}", text)
    for name in VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, option in OPTIONS.items():
        args = argparse.Namespace(options=((option,),))
        apply_environment(args)
        unset = {False, None} if option.name == "json" else {option.default}
        if option.name != "output":  # its default depends on the command
            assert vars(args)[option.name] in unset, name


@pytest.mark.parametrize("option", WITH_VARIABLE.values(), ids=WITH_VARIABLE)
def test_variable_of_an_option_equals_the_option(
    option: Option, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = sample(option.read)
    monkeypatch.setenv(str(option.variable), text)
    args = argparse.Namespace(options=((option,),))
    apply_environment(args)
    assert vars(args)[option.name] == option.read(text)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: command.name)
def test_help_has_an_example_and_every_variable(command: Command) -> None:
    text = command.parser.format_help()
    assert f"example:\n  forewarn {command.name}" in text
    assert max(map(len, text.splitlines())) <= 80
    shared = {option.name for option in (*SERVICE, *output_options(FORMATS))}
    for option in command.options:
        if option.variable and option.name not in shared:
            assert f"[${option.variable}" in text


def test_no_option_hides_an_attribute_of_the_command_line() -> None:
    reserved = {"run", "options", "program", "command", "noun", "typed"}
    for command in COMMANDS:
        assert reserved.isdisjoint(option.name for option in command.options), (
            command.name
        )


# --- the service -------------------------------------------------------------


def other_than_default(setting: Setting) -> str:
    """Return a value of `setting` that differs from its default."""
    usual = setting.default
    default = None if usual is None else setting.read(usual)

    def read(text: str) -> object:
        value: object = setting.read(text)
        if value == default:
            raise ValueError("that is the default")
        return value

    return sample(read)


@pytest.mark.parametrize("setting", SETTINGS, ids=lambda each: each.name)
def test_variable_of_a_setting_equals_the_flag(setting: Setting) -> None:
    text = other_than_default(setting)
    home = {"HOME": "/home/ops"}
    beside = COMPANIONS.get(setting.name, {})
    by_variable = SettingSources(
        flags=beside, environment={**home, setting.variable: text}
    )
    by_flag = SettingSources(flags={**beside, setting.name: text}, environment=home)
    assert load(by_variable) == load(by_flag)
    if setting.name not in ("tls_cert", "tls_key"):  # one alone is refused
        assert load(by_variable) != load(SettingSources(flags=beside, environment=home))
