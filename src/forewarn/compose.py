"""From a configuration to a running system; only here are concrete classes named."""

import gc
import hashlib
import logging
import os
import resource
import socket
import ssl
import tomllib
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from types import TracebackType

from forewarn.clocks import SystemClock, make_clock
from forewarn.config import Config
from forewarn.core import fleet_file
from forewarn.core.policy import Rules
from forewarn.drivers.choice import IN_PLACE, Choice, make_driver, open_driver
from forewarn.engine.causes import Causes
from forewarn.engine.counting import Counting
from forewarn.engine.delivering import Delivery
from forewarn.engine.documents import Documents
from forewarn.engine.engine import CLOCK, Engine
from forewarn.engine.fleets import Fleets
from forewarn.engine.journal import Follower
from forewarn.engine.notes import Notes
from forewarn.engine.notifying import Notifying
from forewarn.engine.pace import Pace
from forewarn.engine.pulse import heartbeat
from forewarn.engine.retries import Retries
from forewarn.engine.timers import Advance, Timers
from forewarn.engine.tokens import Tokens
from forewarn.engine.works import Works
from forewarn.errors import CannotStart, Conflict, ForewarnError
from forewarn.notifiers.choice import make_notifier, open_notifier
from forewarn.ports import Clock
from forewarn.server.control.tls import tls_context
from forewarn.server.identity import Directory
from forewarn.server.limits import Connections, Rate
from forewarn.server.metadata import Desk
from forewarn.server.plane import MetadataPlane
from forewarn.server.responses import Stamp
from forewarn.stores.database import Database
from forewarn.stores.sql import SqlStore
from forewarn.stores.sqlite import MEMORY, Sqlite, file_bytes
from forewarn.values import POSTGRES, SQLITE, Address

_log = logging.getLogger(__name__)

_CONTROL = 512  # connections to the control plane
_OTHER_FILES = 128  # of the store, mostly: two for each thread that reads
_MANY = 10_000_000
_LEAD = 2.0  # seconds between Started and the driver
_COUNT = 5.0  # seconds between two looks of `counting`; a scrape does not wait for it


class System:
    """The whole service in one process."""

    def __init__(self, config: Config, token: str) -> None:
        """Be what `config` says; `open` starts it."""
        self._config = config
        self._token = token
        self._tls: ssl.SSLContext | None = None  # None: plain HTTP
        self._cleanup = ExitStack()
        self.metadata: Sequence[str] = ()
        self.control = ""

    def __enter__(self) -> "System":
        """Start."""
        self.open()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Stop."""
        self.close()

    def close(self) -> None:
        """Stop, in the opposite order of the start."""
        self._cleanup.close()

    def open(self) -> None:
        """Start both planes; return when they answer."""
        with ExitStack() as cleanup:
            self._open(cleanup)
            self._cleanup = cleanup.pop_all()

    def _open(self, cleanup: ExitStack) -> None:
        config = self._config
        if config.tls_cert and config.tls_key:
            self._tls = tls_context(config.tls_cert, config.tls_key)
        listening = [_listen(each, cleanup) for each in config.metadata]
        controlling = _listen(config.control, cleanup)
        store = _open_store(config.store)
        cleanup.callback(store.close)
        clock = _make_clock(config, store)
        notes = Notes()
        engine = Engine(store, clock, rules=_rules(config, clock), notes=notes)
        engine.beat()
        fleets = Fleets(engine)
        if config.fleet is not None:
            _apply_fleet(fleets, config.fleet)
        directory = Directory(is_open=config.is_open, default_vm=config.default_vm)
        desk = Desk(
            directory,
            notes,
            Stamp(clock.now(), clock.name),
            date_form=config.not_before_2017_03_01,
            rate=_rate(config.requests_per_second),
            first_call_delay=config.first_call_delay,
            takes_latest=config.latest,
        )
        plane = MetadataPlane(listening, desk, engine, clock, _limit(config))
        documents = Documents(store, plane.hand_over)
        documents.open()
        _warn_of_default(directory, config)
        gc.collect()
        gc.freeze()  # a collection over a large fleet would pause every answer
        cleanup.callback(gc.unfreeze)
        plane.start()
        cleanup.callback(plane.stop)
        self._open_control(cleanup, controlling, engine, fleets, documents, plane)
        cleanup.callback(store.leave)  # first of all, so that nobody hangs on it
        self.metadata = [f"http://{_bound(each)}" for each in listening]
        self.control = f"{'https' if self._tls else 'http'}://{_bound(controlling)}"

    def _open_control(
        self,
        cleanup: ExitStack,
        controlling: socket.socket,
        engine: Engine,
        fleets: Fleets,
        documents: Documents,
        plane: MetadataPlane,
    ) -> None:
        works = self._open_works(cleanup, engine, documents)
        notifying = self._open_notifying(cleanup, engine)
        # Imported late: FastAPI takes half a second, and VMs can be answered by now.
        from forewarn.server.control.app import in_public, make_app
        from forewarn.server.control.asked import Parts
        from forewarn.server.control.callers import known_as
        from forewarn.server.control.journal import Streams
        from forewarn.server.control.runner import ControlPlane
        from forewarn.server.metrics.sources import sources_of

        counting = Counting(engine.store)
        counting.open()
        works.on_call = counting.numbers.end_call
        streams = Streams()
        followers = [
            Follower("documents", documents.catch_up),
            Follower("works", works.catch_up, works.wait),
            Follower("counting", counting.catch_up, lambda bell: bell.wait(_COUNT)),
        ]
        works.on_end = followers[1].ring
        timers = Timers(engine, followers[1].ring)

        tokens = Tokens(engine, self._token)
        tokens.reload()

        def after_commit(position: int) -> None:
            try:
                if engine.are_tokens_stale:
                    tokens.reload()
                documents.catch_up(position)
            except ForewarnError:
                _log.exception("documents will catch up later")
                followers[0].ring()
            followers[1].ring()
            timers.ring()
            streams.ring()
            notifying.ring()

        def read_to_end() -> None:
            documents.catch_up()
            plane.restamp()
            works.finish()

        engine.after_commit, engine.on_doubt = after_commit, timers.ring
        advance = Advance(engine, read_to_end)
        parts = Parts(
            engine=engine,
            fleets=fleets,
            causes=Causes(engine),
            advance=advance,
            tokens=tokens,
            documents_position=lambda: documents.position,
            notifying=notifying,
            sources=sources_of(
                counting,
                engine=engine,
                documents=documents,
                works=works,
                timers=timers,
                plane=plane,
                store_bytes=partial(_store_bytes, self._config.store),
                targets=notifying.targets,
            ),
        )
        app = make_app(parts, streams)
        asked_for = self._config.control.host, *self._config.control_host
        names = known_as(_bound(controlling).host, *asked_for)
        control = ControlPlane(
            [controlling],
            in_public(app, names),
            streams,
            connections=_control_connections(),
            tls=self._tls,
            is_proxied=bool(self._config.control_host),
        )
        threads: list[Follower | Timers | ControlPlane] = [*followers, timers, control]
        for each in threads:
            each.start()
            cleanup.callback(each.stop)
        notifying.start()
        cleanup.callback(advance.stop)
        cleanup.callback(works.leave)

    def _open_works(
        self, cleanup: ExitStack, engine: Engine, documents: Documents
    ) -> Works:
        config = self._config
        driver = make_driver(_choice(config))
        open_driver(driver, cleanup)
        works = Works(
            engine,
            documents,
            driver,
            parallel=0 if config.driver in IN_PLACE else config.driver_parallel,
            retries=Retries(config.driver_backoff),
        )
        cleanup.callback(works.stop)
        return works

    def _open_notifying(self, cleanup: ExitStack, engine: Engine) -> Notifying:
        config = self._config
        pace = Pace(longest_backoff=config.notify_longest_backoff)
        deliveries = []
        for target in config.notify_targets:
            notifier = make_notifier(
                target, source=config.notify_source, now=SystemClock().now
            )
            open_notifier(target.name, notifier)
            made = Delivery(target, notifier, engine.store, engine.clock, pace)
            cleanup.callback(made.leave)
            made.open()
            deliveries.append(made)
        notifying = Notifying(deliveries, engine.store, engine.clock)
        cleanup.callback(notifying.stop)
        return notifying


# --- parts -------------------------------------------------------------------


def _listen(address: Address, cleanup: ExitStack) -> socket.socket:
    """Bind `address`; IPv4 and IPv6 are bound apart."""
    try:
        found = socket.getaddrinfo(
            address.host, address.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )
        family, kind, protocol, _, where = found[0]
        made = socket.socket(family, kind, protocol)
        cleanup.callback(made.close)
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind(where)
        made.listen(4096)
    except OSError as error:
        raise CannotStart(
            f"{address} cannot be listened on: {error.strerror or error}; choose"
            " another address with --metadata or --control"
        ) from error
    return made


def _rate(per_second: float) -> Rate | None:
    return Rate(per_second) if per_second else None


def _limit(config: Config) -> Connections:
    """Leave the store and the control plane some files to open."""
    files = _files()
    possible = max(files - _CONTROL - _OTHER_FILES, files // 3, 1)
    total = min(config.connections or possible, possible)
    return Connections(per_vm=config.connections_per_vm, total=total)


def _control_connections() -> int:
    return max(min(_CONTROL, _files() // 8), 1)


def _files() -> int:
    """How many files may be open; each connection is one."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    return _MANY if soft == resource.RLIM_INFINITY else soft


def _bound(listening: socket.socket) -> Address:
    host, port = listening.getsockname()[:2]
    return Address(str(host), int(port))


def _open_store(url: str) -> SqlStore:
    path = MEMORY if url == "memory" else url.removeprefix(SQLITE)
    store = SqlStore(_postgres(url) if url.startswith(POSTGRES) else Sqlite(path))
    store.open()
    return store


def _store_bytes(url: str) -> int | None:
    """How large the store is; None: it is no file."""
    return file_bytes(url.removeprefix(SQLITE)) if url.startswith(SQLITE) else None


def _postgres(url: str) -> Database:
    try:  # imported only when used: it takes 0.1 s, and is an extra
        from forewarn.stores.postgres import Postgres
    except ImportError as error:
        raise CannotStart(
            f"a store in PostgreSQL needs the postgres extra ({error.name or 'libpq'}"
            " is missing): pip install 'forewarn[postgres]'"
        ) from error
    return Postgres(url)


def _make_clock(config: Config, store: SqlStore) -> Clock:
    with store.snapshot() as snapshot:
        kept, last = _moment(snapshot.setting(CLOCK)), snapshot.last_at()
        beaten = heartbeat(snapshot)
    latest = max((each for each in (last, beaten) if each), default=None)
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


def _rules(config: Config, clock: Clock) -> Rules:
    """Promises to programs that poll in real time last `rate` times as long."""
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
        host_failure=config.host_failure_type,
    )


def _choice(config: Config) -> Choice:
    return Choice(
        name=config.driver,
        command=config.driver_command or (),
        timeout=config.driver_timeout,
        grace=config.driver_grace,
        held=_held(config),
        options=config.driver_options,
    )


def _held(config: Config) -> Path | None:
    """The file that scripts hold; one for each store, if that outlives the service."""
    if config.store == "memory":
        return None
    path = config.store.removeprefix(SQLITE)
    name = config.store if path == config.store else os.path.realpath(path)
    digest = hashlib.sha256(name.encode()).hexdigest()
    return config.state_directory / f"scripts-{digest[:16]}"


def _apply_fleet(fleets: Fleets, name: str) -> None:
    try:
        content = Path(name).read_bytes()
    except OSError as error:
        raise CannotStart(f"{name} cannot be read: {error.strerror}") from error
    digest = hashlib.sha256(content).hexdigest()
    if fleets.is_applied(digest):
        return
    try:
        data = tomllib.loads(content.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise CannotStart(f"{name} is not valid TOML: {error}") from error
    fleet = fleet_file.read_fleet(data, name)
    try:
        applied = fleets.apply(fleet, by="serve --fleet", digest=digest)
    except Conflict as error:
        raise CannotStart(
            f"{name} cannot be applied: {error}. Start without --fleet, and use"
            f" `forewarn fleet apply {name}`"
        ) from error
    for warning in applied.warnings:
        _log.warning("%s", warning)


def _warn_of_default(directory: Directory, config: Config) -> None:
    name = config.default_vm
    if name is not None and directory.seat("", name) is None:
        _log.warning(
            "--default-vm: there is no VM %s; strangers are answered 404", name
        )
