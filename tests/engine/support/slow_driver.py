"""Driver whose calls the test ends, and helpers for its work."""

from collections.abc import Callable, Iterable, Iterator
from queue import Queue
from threading import Event

from tests.engine.support.system import System
from tests.patience import PATIENCE

from forewarn.core.lifecycle.announcements import Order
from forewarn.core.lifecycle.facts import WorkBegan
from forewarn.core.lifecycle.model import Maintenance
from forewarn.ports import Printed, Report, Work
from forewarn.protocol.types import EventType

LONG = PATIENCE


def done(work: Work) -> list[Report]:
    return [Report(vm=vm.name) for vm in work.vms]


class BlockingDriver:
    """Reports each call that begins, and waits for permission to end it."""

    def __init__(
        self, act: Callable[[Work], Iterable[Report | Printed]] = done
    ) -> None:
        self.act = act
        self._begun: Queue[Work] = Queue()
        self._may_end: dict[str, Event] = {}

    def carry_out(self, work: Work) -> Iterator[Report | Printed]:
        may_end = self._may_end[work.maintenance] = Event()
        self._begun.put(work)
        assert may_end.wait(LONG)
        yield from self.act(work)

    def begun(self) -> Work:
        """Return the next work that has begun."""
        return self._begun.get(timeout=LONG)

    def has_begun_more(self) -> bool:
        return not self._begun.empty()

    def end(self, *works: Work) -> None:
        for work in works:
            self._may_end[work.maintenance].set()


def start_reboot(system: System, *vms: str, host: str | None = None) -> Maintenance:
    """Start a Reboot now, regardless of blockers."""
    order = Order(
        type=EventType.REBOOT,
        vms=vms,
        host=host,
        emergency=True,
        ignore_blockers=True,
        reason="smoke",
    )
    return system.announce(order)


def begun(system: System) -> list[str]:
    return [fact.maintenance for fact in system.facts(WorkBegan)]
