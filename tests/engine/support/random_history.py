"""Random stories of a service that crashes.

A seed determines a story. It gives random commands. Whenever its fuse blows, everything
in memory is lost, the file is opened again, and the interrupted command is repeated, as
by a client that got no response.
"""

import logging
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from random import Random

from tests.engine.support.crashes import Crash, CrashCountdown, CrashingMachine
from tests.engine.support.invariants import ExpectedFacts, check
from tests.engine.support.slow_driver import done
from tests.engine.support.system import (
    FLEET,
    HOUR,
    MINUTE,
    NOON,
    SECOND,
    RecordingDriver,
    System,
    a_reboot,
    a_system,
    an_emergency,
    counted,
    fail,
)

from forewarn.core.fleet import VM
from forewarn.core.lifecycle import facts as f
from forewarn.core.lifecycle.announcements import Order
from forewarn.core.lifecycle.facts import Sight
from forewarn.core.lifecycle.model import Maintenance, Phase
from forewarn.core.lifecycle.operations import VmOperation, order_for, order_for_host
from forewarn.engine.idempotency import IdempotencyKey
from forewarn.engine.operations import HostResult, Operations
from forewarn.errors import ForewarnError, Repeated
from forewarn.ports import Report, Work
from forewarn.protocol.types import EventSource, EventType
from forewarn.stores.consistency import find_problems
from forewarn.stores.sqlite import Sqlite

LONGEST_FUSE = 150  # statements
MOST_CRASHES = 3

Command = Callable[[System], ExpectedFacts | None]


@dataclass(frozen=True, slots=True)
class MaintenanceCommand:
    """A command on one maintenance, and the kind of fact it leaves."""

    kind: type[f.Approved | f.Canceled | f.WorkEnded | f.WorkRetried | f.Closed]
    call: Callable[[System, Maintenance, str, IdempotencyKey[Maintenance]], object]
    changes: Callable[[Maintenance], bool]


ON_ONE = (
    MaintenanceCommand(
        f.Approved,
        lambda s, m, by, once: s.engine.approve(m.events[0].id, by=by, once=once),
        lambda m: m.phase is Phase.SCHEDULED and m.events[0].approved_at is None,
    ),
    MaintenanceCommand(
        f.Canceled,
        lambda s, m, by, once: s.engine.cancel(m.id, by=by, once=once),
        lambda m: m.phase is Phase.SCHEDULED,
    ),
    MaintenanceCommand(
        f.WorkEnded,
        lambda s, m, by, once: s.engine.complete(m.id, by=by, once=once),
        lambda m: m.phase is Phase.STARTED and m.completed_by is None,
    ),
    MaintenanceCommand(
        f.WorkRetried,
        lambda s, m, by, once: s.engine.retry(m.id, by=by, once=once),
        lambda m: True,
    ),
    MaintenanceCommand(
        f.Closed,
        lambda s, m, by, once: s.engine.close(m.id, by=by, once=once),
        lambda m: True,
    ),
)


def orders(random: Random) -> Order:
    """Return a random order."""
    vm = random.choice([*FLEET.vms])
    return random.choice(
        (
            a_reboot(vm),
            a_reboot(vm, minutes=random.randint(15, 40)),
            a_reboot(host=random.choice([*FLEET.hosts])),
            an_emergency(vm),
            Order(type=EventType.REDEPLOY, vms=("web-0", "web-1")),
            Order(type=EventType.FREEZE, vms=(vm,), duration=random.randint(0, 60)),
            Order(type=EventType.TERMINATE, vms=("iso-0", vm)),
            Order(type=EventType.REBOOT, vms=(vm,), source=EventSource.USER),
        )
    )


@dataclass(frozen=True, slots=True)
class HistoryBatch:
    """Stories to run one after another, each from the same `beginning`."""

    seeds: range
    initial_store: Path
    folder: Path


def run_histories(chapter: HistoryBatch) -> list[list[str]]:
    """Run all stories of `chapter` and return the crashes of each."""
    logging.disable(logging.CRITICAL)  # drivers fail a thousand times and log it
    machine = CrashingMachine(chapter.folder / f"{chapter.seeds.start}.db")
    crashes: list[list[str]] = []
    for seed in chapter.seeds:
        shutil.copy(chapter.initial_store, machine.path)
        story = RandomHistory(seed, machine)
        try:
            story.run()
        except Exception as error:
            error.add_note(f"this is the story of seed {seed}: {story.crashes}")
            raise
        crashes.append(story.crashes)
    return crashes


class RandomHistory:
    """One story, from the first command to the end of every maintenance."""

    def __init__(self, seed: int, machine: CrashingMachine) -> None:
        """Prepare story `seed` on a `machine` whose store contains `FLEET`."""
        self.crashes: list[str] = []  # statements that were never executed
        self._name = f"seed {seed}"
        self._random = Random(seed)
        self._machine = machine
        self._promises: list[ExpectedFacts] = []
        self._driver = RecordingDriver(self._act)
        self._new_id = counted(100)
        self._now = NOON
        self._keys = (f"command-{number}" for number in range(1000))

    def run(self) -> None:
        """Give commands, crash and continue; then advance time until all ends."""
        self._replace_fuse()
        system = self._open()
        for _ in range(self._random.randint(3, 6)):
            with self._fuse.paused():
                command = self._draw_command(system)
            system = self._carry_out(system, command)
        with self._fuse.paused():
            self._wait_for_everything(system)
            self._check(system)
        system.store.close()
        database = Sqlite(str(self._machine.path))
        with database.existing() as cursor:
            assert find_problems(cursor, database.dialect) == [], self._name

    def _check(self, system: System) -> None:
        check(system, self._promises, self._driver.works, self._name)

    # --- crashing ------------------------------------------------------------

    def _carry_out(self, system: System, command: Command) -> System:
        """Repeat `command` until it succeeds or is refused."""
        while True:
            try:
                promise = command(system)
            except ForewarnError:
                return system
            except Crash:
                system = self._begin_again(system)
            else:
                if promise is not None:
                    self._promises.append(promise)
                return system

    def _begin_again(self, system: System) -> System:
        self._now = system.clock.now()
        if self._random.random() < 0.3:
            self._now += self._random.randint(1, 3600) * SECOND  # downtime
        self._cut_power()
        system = self._open()
        with self._fuse.paused():
            self._check(system)
        return system

    def _cut_power(self) -> None:
        self.crashes.append(self._fuse.blown_at or "")
        self._machine.store.close()  # closes connections; nothing is sent through them
        self._replace_fuse()

    def _open(self) -> System:
        store = self._machine.store
        while True:
            try:
                store.open()
                return a_system(
                    store,
                    at=self._now,
                    driver=self._driver,
                    new_id=self._new_id,
                    fleet=None,
                )
            except Crash:
                self._cut_power()

    def _replace_fuse(self) -> None:
        length = self._random.randint(1, LONGEST_FUSE)
        is_last = len(self.crashes) >= MOST_CRASHES
        self._machine.fuse = CrashCountdown(None if is_last else length)

    @property
    def _fuse(self) -> CrashCountdown:
        return self._machine.fuse

    # --- commands ------------------------------------------------------------

    def _draw_command(self, system: System) -> Command:
        maintenances = system.maintenances()
        thoughts: list[Callable[[], Command]] = [
            self._announce,
            self._announce,
            self._degrade,
            self._redeploy,
            self._pass_time,
            self._pass_time,
            self._change_the_fleet,
            self._notice,
        ]
        if maintenances:
            thoughts += [
                lambda: self._on_one(maintenances),
                lambda: self._on_one(maintenances),
            ]
            thoughts += [lambda: self._approve_as_vm(maintenances)]
        return self._random.choice(thoughts)()

    def _announce(self) -> Command:
        order, key = orders(self._random), next(self._keys)

        def command(system: System) -> ExpectedFacts:
            once: IdempotencyKey[Sequence[Maintenance]] = IdempotencyKey(
                key=key, digest="", render=_count
            )
            try:
                maintenances = system.engine.announce(order, by=key, once=once)
            except Repeated as repeated:
                return ExpectedFacts(f.Announced, key, int(repeated.answer))
            return ExpectedFacts(f.Announced, key, len(maintenances))

        return command

    def _degrade(self) -> Command:
        """Report a host as degraded, which each group leaves on its own."""
        order, key = (
            order_for_host(self._random.choice([*FLEET.hosts])),
            next(self._keys),
        )
        hours = self._random.choice((1, 2, 10))

        def command(system: System) -> ExpectedFacts:
            fails_by = None if hours is None else NOON + hours * HOUR
            once: IdempotencyKey[HostResult] = IdempotencyKey(
                key=key, digest="", render=lambda result, _: str(len(result.announced))
            )
            try:
                result = Operations(system.engine).degrade(
                    order, fails_by=fails_by, by=key, once=once
                )
            except Repeated as repeated:
                return ExpectedFacts(f.Announced, key, int(repeated.answer))
            return ExpectedFacts(f.Announced, key, len(result.announced))

        return command

    def _redeploy(self) -> Command:
        """Redeploy a VM for its owner; it may leave a degraded host that way."""
        what, key = VmOperation.REDEPLOY, next(self._keys)
        order = order_for(what, self._random.choice([*FLEET.vms]))

        def command(system: System) -> ExpectedFacts:
            once: IdempotencyKey[Sequence[Maintenance]] = IdempotencyKey(
                key=key, digest="", render=_count
            )
            with suppress(Repeated):
                Operations(system.engine).operate(what, order, by=key, once=once)
            return ExpectedFacts(f.Announced, key, 1)

        return command

    def _on_one(self, known: list[Maintenance]) -> Command:
        what, which = self._random.choice(ON_ONE), self._random.choice(known)
        key = next(self._keys)
        changes: list[bool] = []

        def command(system: System) -> ExpectedFacts:
            with self._fuse.paused():
                changes.append(what.changes(system.maintenance(which.id)))
            once: IdempotencyKey[Maintenance] = IdempotencyKey(
                key=key, digest="", render=_count
            )
            try:
                what.call(system, which, key, once)
            except Repeated:  # done before a crash; nothing changed until then
                return ExpectedFacts(what.kind, key, int(changes[0]))
            return ExpectedFacts(what.kind, key, int(changes[-1]))

        return command

    def _approve_as_vm(self, known: list[Maintenance]) -> Command:
        several = self._random.sample(known, self._random.randint(1, len(known)))
        group = several[0].events[0].group
        events = [e for m in several for e in m.events if e.group == group]
        ids = [event.id for event in events]
        vm = events[0].resources[0]

        def command(system: System) -> None:
            system.engine.approve_as_vm(vm, ids)
            with self._fuse.paused():
                for event_id in ids:
                    maintenance = system.maintenance(event_id)
                    assert (
                        maintenance.phase is not Phase.SCHEDULED
                        or maintenance.event(event_id).approved_at is not None
                    ), f"{self._name}: {event_id} is not approved"

        return command

    def _pass_time(self) -> Command:
        step = self._random.choice(
            (SECOND, 5 * SECOND, MINUTE, 14 * MINUTE, 15 * MINUTE, HOUR, 30 * HOUR)
        )
        step += timedelta(milliseconds=self._random.choice((0, 0, 1, 999)))
        is_noticed = self._random.random() < 0.7

        def command(system: System) -> None:
            if is_noticed:
                system.advance.by(step)
            else:  # the clock moves on while the timers still sleep
                system.clock.move_to(system.clock.now() + step)

        return command

    def _change_the_fleet(self) -> Command:
        key = next(self._keys)
        name = f"vm-{self._random.randint(0, 2)}"
        group = self._random.choice(["web", "iso", name])
        vm = VM(name=name, group=group, update_domain=self._random.randint(0, 2))
        iso = replace(FLEET.groups["iso"], isolated=self._random.random() < 0.5)
        ways: tuple[Callable[[System], object], ...] = (
            lambda system: system.fleets.put_vm(vm, by=key),
            lambda system: system.fleets.remove_vm(name, by=key),
            lambda system: system.fleets.put_group(iso, by=key),
        )
        way = self._random.choice(ways)

        def command(system: System) -> None:
            way(system)  # promises nothing; the state is checked

        return command

    def _notice(self) -> Command:
        group = self._random.choice([*FLEET.groups])
        sight = f"E{self._random.randint(0, 3)}"

        def command(system: System) -> None:
            now = system.clock.now()
            system.engine.listen([group])
            system.observations.add_poll(group, now)
            system.observations.add_sight(Sight(event=sight, vm="web-0", at=now))
            system.engine.beat()
            with self._fuse.paused(), system.store.snapshot() as snapshot:
                assert snapshot.seen(sight), f"{self._name}: {sight} was not seen"

        return command

    # --- the driver, and the end ---------------------------------------------

    def _act(self, work: Work) -> Iterable[Report]:
        """Do the work immediately, one by one, by halves, or not at all."""
        return self._random.choice((done, done, _one_by_one, _fail_every_other, fail))(
            work
        )

    def _wait_for_everything(self, system: System) -> None:
        self._driver.act = done
        system.advance.by(HOUR)
        for maintenance in system.maintenances():
            if maintenance.stuck_since is not None:
                system.engine.retry(maintenance.id, by="ops")
        system.advance.by(72 * HOUR)
        for maintenance in system.maintenances():
            assert not maintenance.phase.is_live, (
                f"{self._name}: {maintenance} never ends"
            )


def _count(result: object, _: object) -> str:
    return str(len(result)) if isinstance(result, list) else "1"


def _one_by_one(work: Work) -> Iterator[Report]:
    for vm in work.vms:
        yield Report(vm=vm.name)


def _fail_every_other(work: Work) -> Iterator[Report]:
    for number, vm in enumerate(work.vms):
        yield Report(vm=vm.name, failed=number % 2 == 0, detail="half")
