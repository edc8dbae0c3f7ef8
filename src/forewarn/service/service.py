"""The complete service with its parts and the journal readers that commits wake.

Parts start in order and stop in reverse order.
"""

import gc
import socket
import ssl
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from random import Random
from typing import TYPE_CHECKING, Protocol

from forewarn.clocks import SystemClock
from forewarn.config.settings import Config
from forewarn.core.fleet import Fleet
from forewarn.core.health import Health, ThreadHealth, Vitals, judge
from forewarn.drivers.registry import IN_PLACE, make_driver
from forewarn.engine.engine import Engine
from forewarn.engine.fleet import FleetCommands
from forewarn.engine.health import HealthMonitor
from forewarn.engine.observations import PendingObservations
from forewarn.engine.operations import Operations
from forewarn.engine.readers.documents import Documents
from forewarn.engine.readers.driver_runner import DriverRunner, RetrySchedule
from forewarn.engine.readers.follower import FailureLog, Follower
from forewarn.engine.readers.journal_log import JournalLog
from forewarn.engine.readers.notifications import Delivery, DeliveryPace, Notifications
from forewarn.engine.sessions import Sessions
from forewarn.engine.timers import ClockAdvance, Timers
from forewarn.engine.tokens import Tokens
from forewarn.errors import Unavailable
from forewarn.notifiers.registry import make_notifier
from forewarn.plugins import close_plugin, open_plugin
from forewarn.ports import Bell, Clock
from forewarn.server.control.auth.token_limits import TokenLimits, token_shares
from forewarn.server.control.http.shares import ConnectionShares, InvalidRequests
from forewarn.server.control.http.tls import tls_context
from forewarn.server.metadata.directory import Directory
from forewarn.server.metadata.faults.observer import RequestObserver
from forewarn.server.metadata.faults.plane import InstrumentedPlane
from forewarn.server.metadata.handler import MetadataHandler
from forewarn.server.metadata.limits import RateLimit
from forewarn.server.metadata.stats import silent_groups
from forewarn.server.metadata.transport.responses import ResponseHead
from forewarn.server.metrics.reader import MetricsReader
from forewarn.service.setup import (
    apply_fleet,
    chance_source,
    clock_of,
    driver_of,
    id_source,
    open_store,
    rules_of,
    store_bytes,
    warn_of_default,
)
from forewarn.service.sockets import (
    bound_address,
    connection_limits,
    control_places,
    listen,
    metadata_hosts,
)

if TYPE_CHECKING:
    from forewarn.server.control.routes.journal import JournalStreams

_COUNT = 5.0  # seconds between updates of the metrics; scrapes do not wait for them
_PATIENCE = 5.0  # seconds that a committed command waits until VMs can see it
_PAGE = 1000  # hosts per query
_RETRY = 0.1  # seconds between attempts to show it


class _Plane(Protocol):
    @property
    def health(self) -> ThreadHealth: ...


class ServiceObserver(RequestObserver, Protocol):
    """Observes requests and commits; commits are reported in the committing thread."""

    def opened(self, clock: Clock, directory: Directory) -> None:
        """Receive the service's clock and directory once they exist."""

    def committed(self, position: int) -> None:
        """Record a commit up to journal `position`, before VMs can see it."""

    def wake(self) -> None:
        """React to a commit that VMs can now see."""


class JournalReaders:
    """All journal readers and the timers."""

    def __init__(
        self,
        engine: Engine,
        *,
        tokens: Tokens,
        documents: Documents,
        driver_runner: DriverRunner,
        metrics_reader: MetricsReader,
        notifications: Notifications,
        journal_log: JournalLog | None = None,
        patience: float = _PATIENCE,
    ) -> None:
        """Create the readers of the journal of `engine`.

        Failed attempts to show a commit to VMs are retried for `patience` seconds.
        """
        self._patience = patience
        self._leaving = Bell()
        is_known = engine.health.is_failing
        self._failures = FailureLog("showing a commit to VMs", is_known=is_known)
        self._tokens = tokens
        self.sessions: Sessions | None = None  # None without a control plane
        self._documents = documents
        self._driver_runner = driver_runner
        self._notifications = notifications
        self._journal_log = journal_log
        self._document_follower = Follower(
            "documents", documents.catch_up, is_known=is_known
        )
        self._driver_follower = Follower(
            "driver runner",
            driver_runner.catch_up,
            driver_runner.wait,
            driver_runner.bell,
            is_known=is_known,
        )
        self._metrics_follower = Follower(
            "metrics",
            metrics_reader.catch_up,
            lambda bell: bell.wait(_COUNT),
            is_known=is_known,
        )
        self.timers = Timers(engine, self._driver_follower.ring)

    @property
    def threads(self) -> Sequence[Follower]:
        """Background threads, in the order in which they start."""
        return (
            self._document_follower,
            self._driver_follower,
            self._metrics_follower,
            self.timers,
        )

    @property
    def health(self) -> Sequence[ThreadHealth]:
        """The states of all threads."""
        logs = () if self._journal_log is None else (self._journal_log,)
        followers = (*self.threads, *self._notifications.threads, *logs)
        return [follower.health for follower in followers]

    def leave(self) -> None:
        """Make commands that are waiting for documents give up."""
        self._leaving.set()

    def wake(self, position: int) -> None:
        """Apply a commit before its caller continues, and wake all other readers.

        Raise `Unavailable` if VMs cannot see the commit in time.
        """
        self._driver_follower.ring()
        self.timers.ring()
        self._notifications.ring()
        if self._journal_log is not None:
            self._journal_log.ring()
        self._apply(position)

    def read_to_end(self, restamp: Callable[[], None]) -> None:
        """Bring documents and drivers up to date; call `restamp` between them."""
        self._documents.catch_up()
        restamp()  # VMs get the new time before any driver acts
        self._driver_runner.finish()

    def _apply(self, position: int) -> None:
        until = time.monotonic() + self._patience
        while True:
            try:
                self._tokens.reload_if_stale()
                if self.sessions is not None:
                    self.sessions.reload_if_stale()
                self._documents.catch_up(position)
                self._failures.succeeded()
                return
            except Unavailable as error:
                self._failures.failed(error)
                is_late = time.monotonic() >= until
                if is_late or self._leaving.wait(_RETRY):
                    self._document_follower.ring()
                    raise Unavailable(
                        f"the change is saved, but VMs cannot see it yet: {error};"
                        " check before you retry"
                    ) from error


class Service:
    """The complete service in one process."""

    engine: Engine  # these attributes exist once the service is open
    fleets: FleetCommands
    operations: Operations
    advance: ClockAdvance
    plane: InstrumentedPlane
    _readers: JournalReaders

    def __init__(
        self,
        config: Config,
        token: str,
        *,
        is_guest: bool = False,
        fleet: Fleet | None = None,
        observer: ServiceObserver | None = None,
    ) -> None:
        """Create a service that serves `fleet`, if given; call `open` to start it.

        A guest shares its process with other programs, so it leaves garbage collection
        alone, does not log journal entries, and has no control plane until
        `open_control` is called.
        """
        self._fleet = fleet
        self._observer = observer
        self._config = config
        self._token = token
        self._is_guest = is_guest
        self._cleanup = ExitStack()
        self._streams: JournalStreams | None = None  # None without a control plane
        self._planes: list[_Plane] = []  # running parts
        self._directory = Directory(
            is_open=config.is_open, default_vm=config.default_vm
        )
        self._journal_log: JournalLog | None = None  # None for a guest
        self.metadata: Sequence[str] = ()
        self.control = ""  # empty without a control plane

    def __enter__(self) -> "Service":
        """Start the service."""
        self.open()
        return self

    def __exit__(self, *exception: object) -> None:
        """Stop the service."""
        self.close()

    def close(self) -> None:
        """Stop all parts in reverse order."""
        self._cleanup.close()

    def open(self) -> None:
        """Start the service; a guest starts without a control plane."""
        with ExitStack() as cleanup:
            self._open(cleanup)
            self._cleanup = cleanup.pop_all()

    def open_control(self) -> None:
        """Start the control plane of a guest."""
        with ExitStack() as cleanup:
            control_socket = listen(self._config.control, cleanup)
            self._open_control(cleanup, control_socket, self._tls())
            self._cleanup.push(cleanup.pop_all())

    def _open(self, cleanup: ExitStack) -> None:
        config, tls = self._config, self._tls()
        metadata_sockets = [listen(endpoint, cleanup) for endpoint in config.metadata]
        control_socket = None if self._is_guest else listen(config.control, cleanup)
        self._open_engine(cleanup)
        engine = self.engine
        directory = self._directory
        clock, per_second = engine.clock, config.requests_per_second
        if self._observer is not None:
            self._observer.opened(clock, directory)
        handler = MetadataHandler(
            directory,
            engine.observations,
            ResponseHead(clock.now(), clock.name),
            date_form=config.not_before_2017_03_01,
            rate=RateLimit(per_second) if per_second else None,
            first_call_delay=config.first_call_delay,
            takes_latest=config.latest,
            hosts=metadata_hosts(config),
        )
        self.plane = InstrumentedPlane(
            metadata_sockets,
            handler,
            engine,
            clock,
            connection_limits(config),
            observer=self._observer,
            chance=chance_source(config.seed),
            on_faults=self._wake_streams,
        )
        self._documents = Documents(engine.store, self.plane.apply_update)
        self._documents.open()
        self._make_readers(cleanup)  # before any VM can approve
        warn_of_default(directory, config)
        if not self._is_guest:
            gc.collect()
            gc.freeze()  # collecting a large fleet's garbage would pause every response
            cleanup.callback(gc.unfreeze)
        self.plane.start()
        self._planes.append(self.plane)
        cleanup.callback(self.plane.stop)
        self._start_readers(cleanup)
        if control_socket is not None:
            self._open_control(cleanup, control_socket, tls)
        cleanup.callback(self.advance.stop)
        cleanup.callback(self._driver_runner.leave)
        cleanup.callback(self._readers.leave)
        cleanup.callback(self._store.leave)  # runs first, so nothing may block it
        self.metadata = [
            f"http://{bound_address(endpoint)}" for endpoint in metadata_sockets
        ]

    def _tls(self) -> ssl.SSLContext | None:
        """Return the control plane's TLS context, or None for plain HTTP."""
        config = self._config
        if config.tls_cert and config.tls_key:
            return tls_context(config.tls_cert, config.tls_key)
        return None

    def _open_engine(self, cleanup: ExitStack) -> None:
        config = self._config
        store = self._store = open_store(config.store)
        cleanup.callback(store.close)
        clock = clock_of(config, store)
        make_engine = partial(
            Engine,
            store,
            clock,
            rules=rules_of(config, clock),
            observations=PendingObservations(),
            new_id=id_source(config.seed),
        )
        if not self._is_guest:
            self._journal_log = self._open_journal_log(clock)
        self._commit_first(make_engine(health=HealthMonitor(clock, is_quiet=True)))
        self.engine = make_engine(
            after_commit=self._wake_readers,
            on_doubt=self._wake_timers,
            health=HealthMonitor(clock, on_change=self._wake_streams),
        )
        self.fleets = FleetCommands(self.engine)
        self.operations = Operations(self.engine)

    def _open_journal_log(self, clock: Clock) -> JournalLog:
        """Open the log before the first commit, so that it includes that commit."""
        journal_log = JournalLog(
            self._store,
            rules_of(self._config, clock),
            lambda: silent_groups(self._directory, clock.now()),
            is_known=lambda: self.engine.health.is_failing(),
        )
        journal_log.open()
        return journal_log

    def _commit_first(self, engine: Engine) -> None:
        """Commit what all readers must see when they start."""
        engine.beat()
        fleets = FleetCommands(engine)
        if self._fleet is not None:
            fleets.apply(self._fleet, by="rehearsal", remove=True)
        elif self._config.fleet is not None:
            apply_fleet(fleets, self._config.fleet)

    def _make_readers(self, cleanup: ExitStack) -> None:
        engine = self.engine
        self._metrics_reader = MetricsReader(engine.store)
        self._driver_runner = self._open_driver_runner(cleanup)
        self._notifications = self._open_notifications(cleanup)
        self._metrics_reader.open()
        self._tokens = Tokens(engine, self._token)
        self._tokens.reload()
        self._readers = JournalReaders(
            engine,
            tokens=self._tokens,
            documents=self._documents,
            driver_runner=self._driver_runner,
            metrics_reader=self._metrics_reader,
            notifications=self._notifications,
            journal_log=self._journal_log,
        )
        read_to_end = partial(self._readers.read_to_end, self.plane.refresh_head)
        self.advance = ClockAdvance(engine, read_to_end, self._wake_streams)

    def _start_readers(self, cleanup: ExitStack) -> None:
        if self._journal_log is not None:
            self._journal_log.start()
            cleanup.callback(self._journal_log.stop)  # after everything that commits
        cleanup.callback(self._driver_runner.stop)
        cleanup.callback(self._notifications.stop)
        for thread in self._readers.threads:
            thread.start()
            cleanup.callback(thread.stop)
        self._notifications.start()

    def _wake_readers(self, position: int) -> None:
        if self._observer is not None:
            self._observer.committed(position)
        self._readers.wake(position)
        self._wake_streams()
        if self._observer is not None:
            self._observer.wake()

    def fleet_size(self) -> Mapping[str, int]:
        """Return the number of hosts, groups and VMs."""
        hosts, after = 0, ""
        with self._store.snapshot() as snapshot:
            while page := snapshot.hosts(after=after, limit=_PAGE):
                hosts, after = hosts + len(page), page[-1].name
        groups, vms = self._directory.group_states(), self._directory.entries()
        return {"hosts": hosts, "groups": len(groups), "vms": len(vms)}

    @property
    def store_name(self) -> str:
        """The name of the store, without its password."""
        return self._store.name

    def health(self) -> Health:
        """Return the health of the service, without reading the store."""
        engine = self.engine
        health = judge(
            Vitals(
                now=time.monotonic(),
                writes=engine.health.writes,
                heartbeat_at=self._readers.timers.beaten_at,
                behind_since=self._documents.behind_since,
                threads=self._threads(),
                standstill=engine.health.standstill,
                clock_now=engine.clock.now(),
            )
        )
        warning = getattr(self._driver, "warning", "")  # a plug-in may set any type
        if not isinstance(warning, str) or not warning:
            return health
        return replace(health, warnings=[*health.warnings, warning])

    def ended_threads(self) -> Sequence[str]:
        """Return threads that have ended although the service is running."""
        return [thread.name for thread in self._threads() if not thread.is_alive]

    def _threads(self) -> Sequence[ThreadHealth]:
        return [*self._readers.health, *(plane.health for plane in self._planes)]

    def _wake_timers(self) -> None:
        self._readers.timers.ring()

    def _wake_streams(self) -> None:
        """Send changes to the portal, if there is a control plane."""
        if self._streams is not None:
            self._streams.ring()

    def _open_control(
        self,
        cleanup: ExitStack,
        control_socket: socket.socket,
        tls: ssl.SSLContext | None,
    ) -> None:
        # Imported late: FastAPI takes half a second, and VMs are already being served.
        from forewarn.server.app import in_public, make_app
        from forewarn.server.control.auth.work_slots import WorkSlots
        from forewarn.server.control.context import Services
        from forewarn.server.control.http.origin import known_as
        from forewarn.server.control.http.server import ControlPlane
        from forewarn.server.control.routes.journal import JournalStreams
        from forewarn.server.metrics.sources import MetricSources

        proxies = self._config.trusted_proxies
        places, invalid_requests = control_places(), InvalidRequests()
        shares = ConnectionShares(places, proxies)
        token_limits, work_slots = TokenLimits(token_shares(places)), WorkSlots()
        streams = self._streams = JournalStreams()
        sessions = Sessions(self.engine, self._tokens, SystemClock())
        sessions.reload()
        self._readers.sessions = sessions
        services = Services(
            engine=self.engine,
            fleets=self.fleets,
            operations=self.operations,
            advance=self.advance,
            tokens=self._tokens,
            sessions=sessions,
            documents_position=lambda: self._documents.position,
            health=self.health,
            notifications=self._notifications,
            plane=self.plane,
            token_limits=token_limits,
            work_slots=work_slots,
            sources=MetricSources(
                metrics_reader=self._metrics_reader,
                engine=self.engine,
                operations=self.operations,
                documents=self._documents,
                driver_runner=self._driver_runner,
                timers=self._readers.timers,
                plane=self.plane,
                connections=shares,
                invalid_requests=invalid_requests,
                token_limits=token_limits,
                work_slots=work_slots,
                store_bytes=partial(store_bytes, self._config.store),
                targets=self._notifications.targets,
            ),
        )
        app = make_app(services, streams)
        configured = self._config.control.host, *self._config.control_host
        names = known_as(bound_address(control_socket).host, *configured)
        control = ControlPlane(
            [control_socket],
            in_public(app, names),
            streams.close,
            shares=shares,
            invalid_requests=invalid_requests,
            tls=tls,
            proxies=proxies,
        )
        control.start()
        self._planes.append(control)
        cleanup.callback(control.stop)
        self.control = f"{'https' if tls else 'http'}://{bound_address(control_socket)}"

    def _open_driver_runner(self, cleanup: ExitStack) -> DriverRunner:
        config = self._config
        driver = self._driver = make_driver(driver_of(config))
        open_plugin(driver, "the driver")
        cleanup.callback(close_plugin, driver, "the driver")
        return DriverRunner(
            self.engine,
            self._documents,
            driver,
            parallel=0 if config.driver in IN_PLACE else config.driver_parallel,
            retries=RetrySchedule(config.driver_backoff),
            on_call=self._metrics_reader.end_call,
        )

    def _open_notifications(self, cleanup: ExitStack) -> Notifications:
        config, engine = self._config, self.engine
        draw = Random(config.seed).random  # different every time without a seed
        pace = DeliveryPace(longest_backoff=config.notify_longest_backoff, chance=draw)
        deliveries = []
        for target in config.notify_targets:
            notifier = make_notifier(
                target, source=config.notify_source, now=SystemClock().now
            )
            open_plugin(notifier, f"the notifier {target.name}")
            delivery = Delivery(
                target, notifier, engine.store, engine.write_queue, engine.clock, pace
            )
            cleanup.callback(delivery.leave)
            delivery.open()
            deliveries.append(delivery)
        return Notifications(deliveries, engine.store, engine.clock)
