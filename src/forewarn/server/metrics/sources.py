"""Metric sources, read consistently for one scrape."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from datetime import datetime
from threading import Lock, Thread
from typing import TYPE_CHECKING, Generic, TypeVar

from forewarn.core.lifecycle.model import Maintenance
from forewarn.engine.engine import Engine
from forewarn.engine.operations import Operations
from forewarn.engine.readers.documents import Documents
from forewarn.engine.readers.driver_runner import DriverRunner
from forewarn.engine.readers.notifications import TargetStatus
from forewarn.engine.timers import Timers
from forewarn.errors import ForewarnError
from forewarn.server.control.auth.token_limits import TokenLimits
from forewarn.server.control.auth.work_slots import WorkSlots
from forewarn.server.control.http.shares import ConnectionShares, InvalidRequests
from forewarn.server.metadata.faults.plane import InstrumentedPlane
from forewarn.server.metadata.stats import Presence, presence

if TYPE_CHECKING:
    from forewarn.server.metrics.reader import MetricsReader

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class MetricSources:
    """The parts of the service whose metrics are read, from any thread.

    While the store is unavailable, only `metrics_reader.catch_up`, `targets` and the
    engine's store fail. The other sources do not need the store.
    """

    engine: Engine
    operations: Operations
    metrics_reader: "MetricsReader"
    documents: Documents
    driver_runner: DriverRunner
    timers: Timers
    plane: InstrumentedPlane
    connections: ConnectionShares  # to the control plane
    invalid_requests: InvalidRequests
    token_limits: TokenLimits
    work_slots: WorkSlots
    store_bytes: Callable[[], int | None]  # None if the store is not a file
    targets: Callable[[], Sequence[TargetStatus]] = tuple


@dataclass(frozen=True, slots=True, kw_only=True)
class ReaderLag:
    """A reader's distance from the end of the journal."""

    positions: int
    seconds: float  # in real time, since the oldest fact that it has not read


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalState:
    """Values that must be read from the store."""

    position: int
    lags: Mapping[str, ReaderLag]
    targets: Sequence[TargetStatus]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scrape:
    """All values for one scrape, read at the same moment."""

    sources: MetricSources
    now: datetime
    journal: JournalState | None  # None if the store does not respond
    presence: Presence
    live: Sequence[Maintenance]


def scrape(sources: MetricSources, journal: JournalState | None) -> Scrape:
    """Read all values; `journal` contains those from the store."""
    now = sources.engine.clock.now()
    return Scrape(
        sources=sources,
        now=now,
        journal=journal,
        presence=presence(sources.plane.handler.directory, now),
        live=sources.metrics_reader.live(),
    )


def query_store(sources: MetricSources) -> JournalState:
    """Count all facts in the journal and read the store's state."""
    sources.metrics_reader.catch_up()
    # Before the journal's own position, so that no reader appears to be ahead of it.
    reached = {
        "documents": sources.documents.position,
        "works": sources.driver_runner.position,
    }
    engine = sources.engine
    with engine.store.snapshot() as snapshot:
        position = snapshot.position()
    now = engine.clock.now()
    return JournalState(
        position=position,
        lags={name: _lag(engine, at, position, now) for name, at in reached.items()},
        targets=sources.targets(),
    )


def _lag(engine: Engine, reached: int, position: int, now: datetime) -> ReaderLag:
    if reached >= position:
        return ReaderLag(positions=0, seconds=0.0)
    unread = engine.store.facts(reached, 1)
    waited = (now - unread[0].fact.at).total_seconds() if unread else 0.0
    return ReaderLag(
        positions=position - reached,
        seconds=max(waited, 0.0) / engine.clock.rate,
    )


class SharedQuery(Generic[_T]):
    """Runs one query at a time; callers that arrive meanwhile share its result."""

    def __init__(self, query: Callable[[], _T]) -> None:
        """Create a shared query that calls `query`, which may hang."""
        self._query = query
        self._lock = Lock()
        self._result: Future[_T] | None = None

    def run(self, seconds: float) -> _T | None:
        """Wait up to `seconds` for the result; return None if it is late or failed."""
        with self._lock:
            if self._result is None or self._result.done():
                self._result = Future()
                Thread(
                    target=self._run_query, args=(self._result,), daemon=True
                ).start()
            result = self._result
        try:
            return result.result(seconds)
        except (TimeoutError, ForewarnError):
            return None

    def _run_query(self, result: Future[_T]) -> None:
        try:
            result.set_result(self._query())
        except BaseException as problem:
            result.set_exception(problem)
