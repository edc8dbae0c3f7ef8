"""Environment variables: every option of every command has one.

New commands are found automatically. If a parser of values accepts none of the
`SAMPLES`, the failing test names the missing sample.
"""

import argparse
from collections.abc import Callable, Mapping

import pytest
from tests.cli.support.command_tree import Command, commands

from forewarn.cli.options import Option, apply_environment
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


@pytest.mark.parametrize("command", COMMANDS, ids=lambda setting: setting.name)
def test_no_command_has_an_option_without_a_variable(command: Command) -> None:
    flags = {option.flag for option in command.options}
    if command.name == SERVE:
        own = [setting.option for setting in SETTINGS if setting.metavar is not None]
        flags |= {*own, "--config"}
    assert {*command.flags} == flags


OPTIONS = {
    f"{command.name} {option.flag}": option
    for command in COMMANDS
    for option in command.options
}


@pytest.mark.parametrize("option", OPTIONS.values(), ids=OPTIONS)
def test_variable_of_an_option_equals_the_option(
    option: Option, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "yes" if option.switch else sample(option.read)
    monkeypatch.setenv(option.variable, text)
    args = argparse.Namespace(options=((option,),))
    apply_environment(args)
    value: object = True if option.switch else option.read(text)
    assert vars(args)[option.name] == ([value] if option.repeated else value)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda each: each.name)
def test_help_has_an_example_and_every_variable(command: Command) -> None:
    text = command.parser.format_help()
    assert f"example:\n  forewarn {command.name}" in text
    assert max(map(len, text.splitlines())) <= 80
    for option in command.options:
        assert f"[${option.variable}" in text


def test_two_meanings_never_share_a_variable_within_a_command() -> None:
    for command in COMMANDS:
        variables = [option.variable for option in command.options]
        assert len(variables) == len({*variables}), command.name


def test_no_option_hides_an_attribute_of_the_command_line() -> None:
    reserved = {"run", "options", "program", "command"}
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
