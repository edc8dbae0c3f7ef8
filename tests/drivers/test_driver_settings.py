"""Driver settings."""

import pytest

from forewarn.config.load import SettingSources, load
from forewarn.config.settings import Config
from forewarn.errors import InvalidInput


def from_file(**driver: object) -> Config:
    return load(SettingSources(environment={"HOME": "/root"}, file={"driver": driver}))


def from_environment(**environment: str) -> Config:
    return load(SettingSources(environment={"HOME": "/root", **environment}))


def test_defaults_are_as_documented() -> None:
    config = from_file()
    assert config.driver_command is None
    assert (config.driver_parallel, config.driver_retries) == (4, 0)
    assert (config.driver_backoff, config.driver_timeout) == (5, 3600)
    assert (config.driver_grace, config.driver_options) == (5, {})


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("reboot.sh", ("reboot.sh",)),
        ("sh -c 'two words' a\\ b", ("sh", "-c", "two words", "a b")),
        (["sh", "-c", "two words"], ("sh", "-c", "two words")),
    ],
)
def test_command_is_text_or_a_list_of_words(
    command: object, words: tuple[str, ...]
) -> None:
    assert from_file(command=command).driver_command == words


@pytest.mark.parametrize("command", ["", "  ", "'open", [], ["sh", 1], 7, {}, None])
def test_invalid_command_is_refused(command: object) -> None:
    with pytest.raises(InvalidInput, match=r"driver\.command: "):
        from_file(command=command)


def test_options_are_a_table_in_the_environment_an_inline_one() -> None:
    options = {"url": "http://127.0.0.1", "more": {"size": 3}}
    assert from_file(options=options).driver_options == options
    config = from_environment(FOREWARN_DRIVER_OPTIONS='{ url = "x", size = 3 }')
    assert config.driver_options == {"url": "x", "size": 3}


@pytest.mark.parametrize("options", ["hush", "[1]", 7, [], "{", "1\n[x]", None])
def test_invalid_options_are_refused_and_not_shown(options: object) -> None:
    with pytest.raises(InvalidInput, match=r"driver\.options: expected") as refused:
        from_file(options=options)
    assert "hush" not in str(refused.value)


def test_options_are_not_shown_with_the_settings() -> None:
    assert "hush" not in repr(from_file(options={"password": "hush"}))


@pytest.mark.parametrize("name", ["nothing", "OPERATOR", "Script"])
def test_driver_name_may_be_in_any_case(name: str) -> None:
    assert from_file(name=name).driver == name.lower()


def test_unknown_driver_is_refused_with_the_valid_names() -> None:
    with pytest.raises(InvalidInput, match='"nothing", "operator", "script"'):
        from_file(name="magic")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("parallel", 0),
        ("parallel", 1.5),
        ("retries", -1),
        ("retries", "often"),
        ("backoff", -1),
        ("timeout", -1),
        ("grace", "long"),
    ],
)
def test_number_out_of_range_is_refused(key: str, value: object) -> None:
    with pytest.raises(InvalidInput, match=f"driver.{key}: expected"):
        from_file(**{key: value})
