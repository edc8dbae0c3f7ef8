"""Random stories of a service that crashes, and what must be true of each.

A story is told by its seed. It commands at random; whenever its fuse blows, all that
is in memory is forgotten, the file is opened again, and the story goes on.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from random import Random

from forewarn.core import facts as f
from forewarn.core import lifecycle
from forewarn.core.announcing import Order
from forewarn.core.fleet import VM, Group
from forewarn.core.maintenance import Maintenance, Phase
from forewarn.engine.documents import Documents
from forewarn.engine.once import Once
from forewarn.errors import ForewarnError, Repeated
from forewarn.ports import Report, Work
from forewarn.protocol.types import EventSource, EventType
from tests.engine.crashing import Crash, Fuse, fused
from tests.engine.system import (
    FLEET,
    MINUTE,
    NOON,
    SECOND,
    Plane,
    RecordingDriver,
    System,
    a_reboot,
    a_system,
    an_emergency,
    counted,
    fail,
)
from tests.stores.things import sqlite_store

#: Statements between two crashes, at most.
LONGEST_FUSE = 400

#: What happens to a maintenance at most once.
ONCE_IN_A_LIFE = (f.Announced, f.Started, f.WorkEnded, f.Completed, f.Canceled, f.Closed)

_Attributed = (
    f.Announced | f.Approved | f.WorkEnded | f.Canceled | f.WorkRetried | f.Closed
)


@dataclass(frozen=True, slots=True)
class Promise:
    """What a command that has returned left in the journal: `count` facts by `key`."""

    key: str
    kind: type[_Attributed]
    count: int


Command = Callable[[System], Promise | None]


class Story:
    """One story, from the first command to the end of every maintenance."""

    def __init__(self, seed: int, path: Path) -> None:
        self.seed = seed
        self.crashes: list[str] = []  # the statements that were never executed
        self.promises: list[Promise] = []
        self._random = Random(seed)
        self._path = path
        self._new_id = counted()
        self._driver = RecordingDriver(self._act)
        self._known: list[Maintenance] = []
        self._fuse = Fuse()
        self._now = NOON
        self._number = 0

    def play(self) -> None:
        """Command, crash and go on; then let time end everything."""
        self._burn_anew()
        system = self._begin()
        for _ in range(self._random.randint(5, 8)):
            command = self._random.choice(self._commands)(self)
            system = self._carry_out(system, command)
        self._fuse = Fuse()
        system.store.close()
        system = self._begin()
        self._let_everything_end(system)
        self.check(system)
        system.store.close()

    # --- crashing ------------------------------------------------------------

    def _carry_out(self, system: System, command: Command) -> System:
        """Carry `command` out, again and again until there is an answer."""
        while True:
            try:
                promise = command(system)
            except Repeated:
                promise = None  # it was promised when it was carried out first
            except ForewarnError:
                promise = None
            except Crash:
                system = self._go_on_after_a_crash(system)
                continue
            if promise is not None:
                self.promises.append(promise)
            self._now = system.clock.now()
            return system

    def _go_on_after_a_crash(self, system: System) -> System:
        while True:
            assert self._fuse.blown_at is not None
            self.crashes.append(self._fuse.blown_at)
            self._now = system.clock.now() + self._downtime()
            system.store.close()
            self._burn_anew()
            try:
                system = self._begin()
            except Crash:
                continue
            ...
