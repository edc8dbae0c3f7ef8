"""The service's settings, put together: flags win over the environment, that over
the file.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from forewarn.errors import InvalidInput
from forewarn.notifiers.secrets import complete
from forewarn.notifiers.targets import Target
from forewarn.notifiers.written import target_of
from forewarn.protocol.types import EventType
from forewarn.protocol.versions import DateForm
from forewarn.settings import SETTINGS, Setting
from forewarn.values import Address


@dataclass(frozen=True, slots=True, kw_only=True)
class Config:
    """Everything that can be set."""

    metadata: tuple[Address, ...]
    control: Address
    tls_cert: str | None  # None: the control plane speaks plain HTTP
    tls_key: str | None  # None: as above
    insecure_control: bool
    control_host: tuple[str, ...]
    store: str = field(repr=False)  # there may be a password in it
    fleet: str | None
    clock: str
    driver: str
    driver_command: tuple[str, ...] | None  # None: there is none
    driver_parallel: int
    driver_retries: int
    driver_backoff: float  # seconds
    driver_timeout: float  # seconds; 0: none
    driver_grace: float  # seconds
    driver_options: Mapping[str, object] = field(repr=False)  # there may be secrets
    notify_targets: tuple[Target, ...]
    notify_source: str
    notify_longest_backoff: float  # seconds
    default_vm: str | None
    open: bool
    requests_per_second: float  # of each VM; 0: as many as it likes
    connections_per_vm: int
    connections: int | None  # None: as many as the process may have files open
    log_format: str
    log_level: str
    lead: float | None  # seconds; None: 2, or 0 where the driver does nothing
    shown: Mapping[EventType, float]  # seconds
    user_operations_limit: int  # 0: any number
    host_failure_type: EventType
    not_before_2017_03_01: DateForm
    latest: bool  # a version, as in the preview
    first_call_delay: float  # seconds
    seed: int | None  # None: ids and jitter are others every time
    state_directory: Path

    @property
    def is_open(self) -> bool:
        """Whether callers may say which VM they speak for."""
        return self.open or all(each.is_loopback for each in self.metadata)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Where settings may come from."""

    flags: Mapping[str, object] = field(default_factory=dict)
    environment: Mapping[str, str] = field(default_factory=dict)
    file: Mapping[str, object] = field(default_factory=dict)
    file_name: str = "config"


def load(sources: Sources) -> Config:
    """Put the settings together."""
    _refuse_unknown(sources)
    values = {each.name: _value(each, sources) for each in SETTINGS}
    shown = {kind: values.pop(f"shown_{kind.lower()}") for kind in EventType}
    values["not_before_2017_03_01"] = DateForm(values["not_before_2017_03_01"])
    values["host_failure_type"] = EventType(values["host_failure_type"].capitalize())
    values["notify_targets"] = _targets(values, sources.environment)
    directory = state_directory(sources.environment)
    values["store"] = values["store"] or f"sqlite:///{directory / 'forewarn.db'}"
    config = Config(**values, shown=shown, state_directory=directory)
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


def _targets(
    values: dict[str, Any], environment: Mapping[str, str]
) -> tuple[Target, ...]:
    """Put webhooks that have no name of their own before the others."""
    secrets = values.pop("webhook_secret") or ()
    unnamed = [
        replace(target_of(each), secrets=secrets)
        for each in dict.fromkeys(values.pop("webhook"))
    ]
    return complete([*unnamed, *values["notify_targets"]], environment)


def _value(setting: Setting, sources: Sources) -> Any:
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


def _refuse_unknown(sources: Sources) -> None:
    known: dict[str, list[str]] = {}
    for setting in SETTINGS:
        section, _, name = setting.key.partition(".")
        known.setdefault(section, []).append(name)
    for section, table in sources.file.items():
        place = f"{sources.file_name}: [{section}]"
        if section not in known:
            raise InvalidInput(f"{place} is unknown; known are {', '.join(known)}")
        if not isinstance(table, dict):
            raise InvalidInput(f"{place} must be a table")
        for name in table:
            if name not in known[section]:
                names = ", ".join(known[section])
                raise InvalidInput(f"{place} has no key {name!r}; known are {names}")


def state_directory(environment: Mapping[str, str]) -> Path:
    """Where the store and the token are kept."""
    own = environment.get("FOREWARN_STATE_DIR")
    if own:
        return Path(own)
    shared = environment.get("XDG_STATE_HOME")
    if shared:
        return Path(shared) / "forewarn"
    home = environment.get("HOME")
    return (Path(home) if home else Path.home()) / ".local" / "state" / "forewarn"
