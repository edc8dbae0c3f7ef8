"""The whole service, put together: started in order, stopped in the opposite one."""

import gc
import logging
import socket
import ssl
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from types import TracebackType

from forewarn.clocks import SystemClock
from forewarn.compose.keeping import clock_of, open_store, store_bytes
from forewarn.compose.readers import Readers
from forewarn.compose.ruling import apply_fleet, driver_of, rules, warn_of_default
from forewarn.compose.sockets import bound, control_connections, limit, listen, rate
from forewarn.config import Config
from forewarn.drivers.choice import IN_PLACE, make_driver, open_driver
from forewarn.engine.causes import Causes
from forewarn.engine.counting import Counting
from forewarn.engine.delivering import Delivery
from forewarn.engine.documents import Documents
from forewarn.engine.engine import Engine
from forewarn.engine.fleets import Fleets
from forewarn.engine.notes import Notes
from forewarn.engine.notifying import Notifying
from forewarn.engine.pace import Pace
from forewarn.engine.retries import Retries
from forewarn.engine.timers import Advance
from forewarn.engine.tokens import Tokens
from forewarn.engine.works import Works
from forewarn.notifiers.choice import make_notifier, open_notifier
from forewarn.server.control.tls import tls_context
from forewarn.server.identity import Directory
from forewarn.server.metadata import Desk
from forewarn.server.plane import MetadataPlane
from forewarn.server.responses import Stamp

_log = logging.getLogger(__name__)

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
        listening = [listen(each, cleanup) for each in config.metadata]
        controlling = listen(config.control, cleanup)
        store = open_store(config.store)
        cleanup.callback(store.close)
        clock = clock_of(config, store)
        notes = Notes()
        engine = Engine(store, clock, rules=rules(config, clock), notes=notes)
        engine.beat()
        fleets = Fleets(engine)
        if config.fleet is not None:
            apply_fleet(fleets, config.fleet)
        directory = Directory(is_open=config.is_open, default_vm=config.default_vm)
        desk = Desk(
            directory,
            notes,
            Stamp(clock.now(), clock.name),
            date_form=config.not_before_2017_03_01,
            rate=rate(config.requests_per_second),
            first_call_delay=config.first_call_delay,
            takes_latest=config.latest,
        )
        plane = MetadataPlane(listening, desk, engine, clock, limit(config))
        documents = Documents(store, plane.hand_over)
        documents.open()
        warn_of_default(directory, config)
        gc.collect()
        gc.freeze()  # a collection over a large fleet would pause every answer
        cleanup.callback(gc.unfreeze)
        plane.start()
        cleanup.callback(plane.stop)
        self._open_control(cleanup, controlling, engine, fleets, documents, plane)
        cleanup.callback(store.leave)  # first of all, so that nobody hangs on it
        self.metadata = [f"http://{bound(each)}" for each in listening]
        self.control = f"{'https' if self._tls else 'http'}://{bound(controlling)}"

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
        tokens = Tokens(engine, self._token)
        tokens.reload()
        streams = Streams()
        readers = Readers(
            engine,
            tokens=tokens,
            documents=documents,
            works=works,
            counting=counting,
            notifying=notifying,
            streams=streams.ring,
        )

        advance = Advance(engine, partial(readers.read_to_end, plane.restamp))
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
                timers=readers.timers,
                plane=plane,
                store_bytes=partial(store_bytes, self._config.store),
                targets=notifying.targets,
            ),
        )
        app = make_app(parts, streams)
        asked_for = self._config.control.host, *self._config.control_host
        names = known_as(bound(controlling).host, *asked_for)
        control = ControlPlane(
            [controlling],
            in_public(app, names),
            streams,
            connections=control_connections(),
            tls=self._tls,
            is_proxied=bool(self._config.control_host),
        )
        for each in (*readers.threads, control):
            each.start()
            cleanup.callback(each.stop)
        notifying.start()
        cleanup.callback(advance.stop)
        cleanup.callback(works.leave)

    def _open_works(
        self, cleanup: ExitStack, engine: Engine, documents: Documents
    ) -> Works:
        config = self._config
        driver = make_driver(driver_of(config))
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
