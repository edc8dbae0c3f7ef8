"""Recording notifier, with a manual stopwatch for its pauses."""

from dataclasses import dataclass, field

from tests.engine.support.system import a_system

from forewarn.core.queries.search import KINDS
from forewarn.engine.readers.notifications import Delivery, DeliveryPace
from forewarn.engine.write_queue import WriteQueue
from forewarn.errors import Undelivered
from forewarn.notifiers.targets import Target
from forewarn.ports import Notice, Notifier, Store

ALL = frozenset(KINDS)


@dataclass(slots=True)
class RecordingNotifier:
    """Notifier that records notices; its next `failures` calls fail."""

    failures: int = 0
    delivered: list[Notice] = field(default_factory=list)
    offered: list[Notice] = field(default_factory=list)

    def notify(self, notice: Notice) -> None:
        self.offered.append(notice)
        if self.failures:
            self.failures -= 1
            raise Undelivered("the line is dead")
        self.delivered.append(notice)

    @property
    def positions(self) -> list[int]:
        return [notice.position for notice in self.delivered]

    @property
    def names(self) -> list[str]:
        return [type(notice.fact).__name__ for notice in self.delivered]


@dataclass(slots=True)
class ManualStopwatch:
    """Real time, moved by the test."""

    now: float = 1000.0

    def monotonic(self) -> float:
        return self.now

    def pace(self, longest: float = 300.0) -> DeliveryPace:
        return DeliveryPace(
            longest_backoff=longest, monotonic=self.monotonic, chance=float
        )


def a_target(
    name: str = "ops",
    facts: frozenset[str] = ALL,
    groups: frozenset[str] | None = None,
) -> Target:
    return Target(name=name, kind="log", facts=facts, groups=groups)


def a_delivery(
    store: Store,
    notifier: Notifier,
    stopwatch: ManualStopwatch | None = None,
    target: Target | None = None,
) -> Delivery:
    clock = a_system(store, fleet=None).clock
    pace = (stopwatch or ManualStopwatch()).pace()
    delivery = Delivery(
        target or a_target(), notifier, store, WriteQueue(), clock, pace
    )
    delivery.open()
    return delivery


def stored_setting(store: Store, name: str = "notify:ops") -> str | None:
    with store.snapshot() as snapshot:
        return snapshot.setting(name)


def end_of(store: Store) -> int:
    with store.snapshot() as snapshot:
        return snapshot.position()
