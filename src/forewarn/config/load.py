"""Settings of the service, merged from flags, environment and file.

Flags take precedence over the environment, and the environment over the file.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from forewarn.config.settings import SETTINGS, SQLITE, Config, Setting
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
    """Merge the settings of all `sources` and check them."""
    _refuse_unknown(sources)
    values = {setting.name: _value(setting, sources) for setting in SETTINGS}
    directory = state_directory(sources.environment)
    values["store"] = values["store"] or default_store(sources.environment)
    config = Config(**values, state_directory=directory)
    config = replace(config, notify_targets=_targets(config, sources.environment))
    _check_control(config)
    if config.seed is not None and config.store != "memory":
        raise InvalidInput(
            "--seed makes the same ids again, which a store that is kept may know"
            " already; give --store memory with it"
        )
    return config


def _check_control(config: Config) -> None:
    if (config.tls_cert is None) != (config.tls_key is None):
        raise InvalidInput("--tls-cert and --tls-key belong together; give both")
    has_cover = config.tls_cert is not None or config.insecure_control
    if not (config.control.is_loopback or has_cover):
        raise InvalidInput(
            f"--control: others than this machine can reach {config.control}, and"
            " tokens would cross the network in the clear; give --tls-cert and"
            " --tls-key, or --insecure-control if something else protects it"
        )


def _targets(config: Config, environment: Mapping[str, str]) -> tuple[Target, ...]:
    """Resolve all notification targets; those of `--webhook` come first."""
    secrets = config.webhook_secret or ()
    unnamed = [
        replace(target_of(url), secrets=secrets)
        for url in dict.fromkeys(config.webhook)
    ]
    return with_secrets([*unnamed, *config.notify_targets], environment)


def _value(setting: Setting, sources: SettingSources) -> Any:
    flag = sources.flags.get(setting.name)
    if flag is not None:
        return setting.read(flag, setting.option)
    variable = sources.environment.get(setting.variable)
    if variable:
        return setting.read(variable, setting.variable)
    section, _, name = setting.key.partition(".")
    table = sources.file.get(section)
    if isinstance(table, dict) and name in table:
        place = f"{sources.file_name}: {setting.key}"
        return setting.read(table[name], place)
    if setting.default is None:
        return None
    return setting.read(setting.default, setting.name)


def _refuse_unknown(sources: SettingSources) -> None:
    names_by_section: dict[str, list[str]] = {}
    for setting in SETTINGS:
        section, _, name = setting.key.partition(".")
        names_by_section.setdefault(section, []).append(name)
    for section, table in sources.file.items():
        place = f"{sources.file_name}: [{section}]"
        if section not in names_by_section:
            raise InvalidInput(
                f"{place} is unknown; known are {', '.join(names_by_section)}"
            )
        if not isinstance(table, dict):
            raise InvalidInput(f"{place} must be a table")
        for name in table:
            if name not in names_by_section[section]:
                names = ", ".join(names_by_section[section])
                raise InvalidInput(f"{place} has no key {name!r}; known are {names}")


def default_store(environment: Mapping[str, str]) -> str:
    """Return the URL of the store that is used if none is given."""
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
