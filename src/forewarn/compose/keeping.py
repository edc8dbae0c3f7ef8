"""Store and clock of the service, chosen by the configuration."""

import logging
from datetime import datetime

from forewarn.clocks import make_clock
from forewarn.config import Config
from forewarn.engine.engine import CLOCK
from forewarn.engine.pulse import heartbeat
from forewarn.errors import CannotStart
from forewarn.ports import Clock
from forewarn.stores.database import Database
from forewarn.stores.sql import SqlStore
from forewarn.stores.sqlite import MEMORY, Sqlite, file_bytes
from forewarn.values import POSTGRES, SQLITE

_log = logging.getLogger(__name__)


def open_store(url: str) -> SqlStore:
    """Open the store at `url`."""
    path = MEMORY if url == "memory" else url.removeprefix(SQLITE)
    store = SqlStore(_postgres(url) if url.startswith(POSTGRES) else Sqlite(path))
    store.open()
    return store


def store_bytes(url: str) -> int | None:
    """Return the size of the store in bytes; None if it is not a file."""
    return file_bytes(url.removeprefix(SQLITE)) if url.startswith(SQLITE) else None


def _postgres(url: str) -> Database:
    try:  # imported late: it takes 0.1 s and is an extra
        from forewarn.stores.postgres import Postgres
    except ImportError as error:
        raise CannotStart(
            f"a store in PostgreSQL needs the postgres extra ({error.name or 'libpq'}"
            " is missing): pip install 'forewarn[postgres]'"
        ) from error
    return Postgres(url)


def clock_of(config: Config, store: SqlStore) -> Clock:
    """Return the clock, which is never earlier than the last entry in `store`."""
    with store.snapshot() as snapshot:
        kept, last = _moment(snapshot.setting(CLOCK)), snapshot.last_at()
        beaten = heartbeat(snapshot)
    latest = max((moment for moment in (last, beaten) if moment), default=None)
    clock = make_clock(
        config.clock, kept=kept, last=last if config.clock == "manual" else latest
    )
    if last is not None and clock.now() < last:
        _log.warning(
            "the journal goes to %s, ahead of the system's clock: until then time"
            " stands still. If this store was used with another clock, choose that"
            " with --clock, or another store with --store",
            last.isoformat(),
        )
    return clock


def _moment(text: str | None) -> datetime | None:
    return None if text is None else datetime.fromisoformat(text)
