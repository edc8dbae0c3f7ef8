"""Parts of the service, created from the configuration.

The parts are the store, clock, rules, IDs, driver and fleet. The service only connects
these parts.
"""

import hashlib
import logging
import os
from collections.abc import Callable
from datetime import datetime, timedelta
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from random import Random
from uuid import UUID

from forewarn.clocks import make_clock
from forewarn.config.settings import POSTGRES, SQLITE, Config
from forewarn.configfile import toml
from forewarn.core import fleet_file
from forewarn.core.lifecycle.policy import Rules
from forewarn.drivers.registry import DriverChoice
from forewarn.engine.engine import CLOCK, new_id
from forewarn.engine.fleet import FleetCommands
from forewarn.engine.heartbeat import last_heartbeat
from forewarn.errors import CannotStart, Conflict
from forewarn.extras import required_extra
from forewarn.ports import Clock
from forewarn.server.metadata.directory import Directory
from forewarn.stores.database import Database
from forewarn.stores.sqlite import MEMORY, Sqlite, file_bytes
from forewarn.stores.store import SqlStore

_log = logging.getLogger(__name__)

_DEMO = "demo"  # name of the bundled fleet
_LEAD = 2.0  # seconds between Started and the driver's call


def open_store(url: str) -> SqlStore:
    """Open the store at `url`."""
    store = SqlStore(database_of(url))
    store.open()
    return store


def database_of(url: str) -> Database:
    """Return the database at `url`, not yet open."""
    if url.startswith(POSTGRES):
        return _postgres(url)
    return Sqlite(MEMORY if url == "memory" else url.removeprefix(SQLITE))


def store_bytes(url: str) -> int | None:
    """Return the store's size in bytes, or None if it is not a file."""
    return file_bytes(url.removeprefix(SQLITE)) if url.startswith(SQLITE) else None


def _postgres(url: str) -> Database:
    with required_extra("postgres", "a PostgreSQL store"):
        from forewarn.stores.postgres import Postgres  # late, because it takes 0.1 s
    return Postgres(url)


def clock_of(config: Config, store: SqlStore) -> Clock:
    """Return the clock, which never shows a time before the last entry in `store`."""
    with store.snapshot() as snapshot:
        kept, last = _moment(snapshot.setting(CLOCK)), snapshot.last_at()
        beaten = last_heartbeat(snapshot)
    latest = max((moment for moment in (last, beaten) if moment), default=None)
    return make_clock(
        config.clock, kept=kept, last=last if config.clock == "manual" else latest
    )


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)


def rules_of(config: Config, clock: Clock) -> Rules:
    """Return the rules, with real-time minimums converted to the clock's time."""
    default = 0.0 if config.driver == "nothing" else _LEAD
    lead = default if config.lead is None else config.lead
    return Rules(
        lead=timedelta(seconds=lead * clock.rate),
        shown={
            kind: timedelta(seconds=seconds * clock.rate)
            for kind, seconds in config.shown.items()
        },
        retries=config.driver_retries,
        user_operations=config.user_operations_limit or None,
        user_duration=timedelta(seconds=config.user_operations_max_duration),
        user_notice=timedelta(seconds=config.user_operations_max_notice),
        host_failure=config.host_failure_type,
    )


def id_source(seed: int | None) -> Callable[[], str]:
    """Return a generator of IDs; with a `seed`, the sequence is always the same."""
    if seed is None:
        return new_id
    draw = Random(f"{seed} ids")
    return lambda: str(UUID(int=draw.getrandbits(128), version=4)).upper()


def chance_source(seed: int | None) -> Callable[[], float]:
    """Return the random source for faults; with a `seed`, it is always the same."""
    return Random(None if seed is None else f"{seed} faults").random


def driver_of(config: Config) -> DriverChoice:
    """Return the configured driver and its options."""
    return DriverChoice(
        name=config.driver,
        command=config.driver_command or (),
        timeout=config.driver_timeout,
        grace=config.driver_grace,
        lock_file=_lock_file(config),
        options=config.driver_options,
    )


def _lock_file(config: Config) -> Path | None:
    """Return the scripts' lock file, one per store, or None for a memory store."""
    if config.store == "memory":
        return None
    path = config.store.removeprefix(SQLITE)
    name = config.store if path == config.store else os.path.realpath(path)
    digest = hashlib.sha256(name.encode()).hexdigest()
    return config.state_directory / f"scripts-{digest[:16]}"


def apply_fleet(fleets: FleetCommands, name: str) -> None:
    """Apply the fleet file `name`, unless it was the last file applied."""
    content = toml.read_bytes(_fleet_file(name), CannotStart)
    digest = hashlib.sha256(content).hexdigest()
    if fleets.is_applied(digest):
        return
    data = toml.parse(toml.decode(content, name, CannotStart), name, CannotStart)
    fleet = fleet_file.read_fleet(data, name)
    try:
        applied = fleets.apply(fleet, by="serve --fleet", digest=digest)
    except Conflict as error:
        raise CannotStart(
            f"cannot apply {name}: {error}. Start without --fleet, and then run"
            f" `forewarn fleet apply {name}`"
        ) from error
    for warning in applied.warnings:
        _log.warning("%s", warning)


def _fleet_file(name: str) -> Traversable:
    """Return the fleet file; `demo` is the bundled file unless a file `demo` exists."""
    path = Path(name)
    if name == _DEMO and not path.exists():
        return resources.files("forewarn").joinpath(f"{_DEMO}.toml")
    return path


def warn_of_default(directory: Directory, config: Config) -> None:
    """Log a warning if the default VM for unknown clients does not exist."""
    name = config.default_vm
    if name is not None and directory.find("", name) is None:
        _log.warning(
            "--default-vm: VM '%s' not found; requests from unidentified clients return"
            " 404",
            name,
        )
