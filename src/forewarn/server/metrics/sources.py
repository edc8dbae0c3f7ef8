"""Sources of the metrics, and one reading of all of them per scrape."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from forewarn.core.maintenance import Maintenance
from forewarn.engine.counting import Counting, Numbers
from forewarn.engine.documents import Documents
from forewarn.engine.engine import Engine
from forewarn.engine.notifying import Standing
from forewarn.engine.timers import Timers
from forewarn.engine.works import Works
from forewarn.ports import Clock, Store
from forewarn.server.counts import Answered
from forewarn.server.faults import FaultKind
from forewarn.server.limits import Verdict
from forewarn.server.metrics.traffic import Traffic
from forewarn.server.plane import MetadataPlane
from forewarn.server.presence import Presence, presence


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Callables that metrics are read from; each is safe from any thread.

    Only `store`, `counting` and `targets` need the store, and fail while it is
    unavailable.
    """

    clock: Clock
    store: Store
    store_bytes: Callable[[], int | None]  # None if the store is not a file
    counting: Counting
    #: Readers of the journal, each with its position.
    readers: Mapping[str, Callable[[], int]]
    answered: Callable[[], Mapping[Answered, int]]
    presence: Callable[[datetime], Presence]
    connections: Callable[[], int]
    turned_away: Mapping[Verdict, int]
    held: Callable[[], int]
    faults: Callable[[], Mapping[FaultKind, int]]
    calls: Callable[[], int]
    since_heartbeat: Callable[[], float]
    targets: Callable[[], Sequence[Standing]] = tuple


@dataclass(frozen=True, slots=True, kw_only=True)
class Lag:
    """How far a reader is behind the journal."""

    positions: int
    seconds: float  # of real time, since the oldest fact it has not read


@dataclass(frozen=True, slots=True, kw_only=True)
class Journal:
    """Values that only the store has."""

    position: int
    lags: Mapping[str, Lag]
    targets: Sequence[Standing]


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """All values of one scrape, as of one moment."""

    sources: Sources
    traffic: Traffic
    now: datetime
    journal: Journal | None  # None if the store does not respond
    presence: Presence
    live: Sequence[Maintenance]

    @property
    def numbers(self) -> Numbers:
        """The counters derived from the journal."""
        return self.sources.counting.numbers


def sources_of(
    counting: Counting,
    *,
    engine: Engine,
    documents: Documents,
    works: Works,
    timers: Timers,
    plane: MetadataPlane,
    store_bytes: Callable[[], int | None],
    targets: Callable[[], Sequence[Standing]] = tuple,
) -> Sources:
    """Return the sources of a running service."""
    desk, limit = plane.desk, plane.limit
    return Sources(
        clock=engine.clock,
        store=engine.store,
        store_bytes=store_bytes,
        counting=counting,
        readers={
            "documents": lambda: documents.position,
            "works": lambda: works.position,
        },
        answered=desk.counts.all,
        presence=lambda now: presence(desk.directory, now),
        connections=lambda: limit.count,
        turned_away=limit.turned_away,
        held=lambda: plane.alarm.count,
        faults=plane.faults.counts,
        calls=lambda: works.calls,
        since_heartbeat=lambda: timers.since_heartbeat,
        targets=targets,
    )


def look(sources: Sources, traffic: Traffic, journal: Journal | None) -> Look:
    """Read everything except `journal`, which was read from the store before."""
    now = sources.clock.now()
    return Look(
        sources=sources,
        traffic=traffic,
        now=now,
        journal=journal,
        presence=sources.presence(now),
        live=sources.counting.live(),
    )


def ask_store(sources: Sources) -> Journal:
    """Count up to the end of the journal, and read what only the store has."""
    sources.counting.catch_up()
    # Before the journal's own position, so that no reader seems to be ahead of it.
    reached = {name: position_of() for name, position_of in sources.readers.items()}
    with sources.store.snapshot() as snapshot:
        position = snapshot.position()
    now = sources.clock.now()
    return Journal(
        position=position,
        lags={name: _lag(sources, at, position, now) for name, at in reached.items()},
        targets=sources.targets(),
    )


def _lag(sources: Sources, reached: int, position: int, now: datetime) -> Lag:
    if reached >= position:
        return Lag(positions=0, seconds=0.0)
    unread = sources.store.facts(reached, 1)
    waited = (now - unread[0].fact.at).total_seconds() if unread else 0.0
    return Lag(
        positions=position - reached,
        seconds=max(waited, 0.0) / sources.clock.rate,
    )
