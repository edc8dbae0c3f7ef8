"""Settings of the service, merged from flags, environment and file.

Flags take precedence over the environment, and the environment over the file.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from forewarn.config.settings import SETTINGS, SQLITE, Config, Setting
from forewarn.configfile.values import Reader, at, read_table
from forewarn.errors import InvalidInput
from forewarn.notifiers.settings import target_of
from forewarn.notifiers.targets import Target, with_secrets


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingSources:
    """The sources that settings are read from."""

    flags: Mapping[str, object] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    file: Mapping[str, object] = field(default_factory=dict)
    file_name: str = "config"


def load(sources: SettingSources) -> Config:
    """Merge and check the settings from all `sources`."""
    _check_keys(sources)
    values = {setting.name: _value(setting, sources) for setting in SETTINGS}
    directory = state_directory(sources.environment)
    values["store"] = values["store"] or default_store(sources.environment)
    config = Config(**values, state_directory=directory)
    config = replace(config, notify_targets=_targets(config, sources.environment))
    _check_control(config)
    if config.seed is not None and config.store != "memory":
        raise InvalidInput(
            "--seed requires --store memory, because the same seed always generates the"
            " same IDs, which a persistent store may already contain"
        )
    return config


def _check_control(config: Config) -> None:
    if (config.tls_cert is None) != (config.tls_key is None):
        raise InvalidInput("--tls-cert and --tls-key must be set together")
    has_cover = config.tls_cert is not None or config.insecure_control
    if not (config.control.is_loopback or has_cover):
        raise InvalidInput(
            f"--control: other machines can connect to {config.control}, and tokens"
            " would cross the network unencrypted; set --tls-cert and --tls-key, or"
            " --insecure-control if the connection is protected in another way"
        )


def _targets(config: Config, environment: Mapping[str, str]) -> tuple[Target, ...]:
    """Resolve all notification targets; targets from `--webhook` come first."""
    secrets = config.webhook_secret or ()
    unnamed = [
        replace(target_of(url), secrets=secrets)
        for url in dict.fromkeys(config.webhook)
    ]
    return with_secrets([*unnamed, *config.notify_targets], environment)


def _value(setting: Setting, sources: SettingSources) -> Any:
    section, _, name = setting.key.partition(".")
    table = sources.file.get(section, {})
    flag = sources.flags.get(setting.name)
    variable = sources.environment.get(setting.variable)
    if flag is not None:
        place, value = setting.option, flag
    elif variable:
        place, value = setting.variable, variable
    elif isinstance(table, dict) and name in table:
        place, value = f"{sources.file_name}: {setting.key}", table[name]
    elif setting.default is not None:
        place, value = setting.name, setting.default
    else:
        return None
    with at(place):
        return setting.read(value)


def _check_keys(sources: SettingSources) -> None:
    sections: dict[str, dict[str, Reader[Any]]] = {}
    for setting in SETTINGS:
        section, _, name = setting.key.partition(".")
        sections.setdefault(section, {})[name] = _unread
    readers = {
        name: partial(read_table, readers=keys) for name, keys in sections.items()
    }
    with at(sources.file_name):
        read_table(sources.file, readers)


def _unread(value: object) -> object:
    return value  # read only if no flag or variable takes precedence


def default_store(environment: Mapping[str, str]) -> str:
    """Return the URL of the default store."""
    return f"{SQLITE}{state_directory(environment) / 'forewarn.db'}"


def state_directory(environment: Mapping[str, str]) -> Path:
    """Return the directory of the store and the token."""
    own = environment.get("FOREWARN_STATE_DIR")
    if own:
        return Path(own)
    shared = environment.get("XDG_STATE_HOME")
    if shared:
        return Path(shared) / "forewarn"
    home = environment.get("HOME")
    return (Path(home) if home else Path.home()) / ".local" / "state" / "forewarn"
