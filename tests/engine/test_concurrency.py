"""Concurrent commands from many threads."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from random import Random
from threading import Barrier

import pytest
from tests.engine.support.invariants import check
from tests.engine.support.system import (
    HOUR,
    OpenStore,
    System,
    a_reboot,
    a_system,
    an_emergency,
)
from tests.lanes import SEED
from tests.patience import PATIENCE

from forewarn.core.fleet import VM
from forewarn.core.lifecycle.announcements import Order
from forewarn.core.lifecycle.facts import Announced, Approved
from forewarn.core.lifecycle.model import Maintenance
from forewarn.errors import Conflict
from forewarn.protocol.types import EventType

pytestmark = pytest.mark.slow

THREADS = 6
TURNS = 8
LONG = PATIENCE


def announce_random(system: System, random: Random, by: str) -> Maintenance:
    order = random.choice(
        (
            a_reboot(host="host-a"),
            a_reboot(f"web-{random.randint(0, 2)}"),
            an_emergency("lone"),
            Order(type=EventType.PREEMPT, vms=("iso-0", "iso-1")),
        )
    )
    return system.engine.announce(order, by=by)[0]


def act_randomly(system: System, made: Maintenance, random: Random) -> None:
    event = made.events[0]
    vm = VM(name=f"new-{random.randint(0, 9)}", group=random.choice(["web", "iso"]))
    actions: tuple[Callable[[], object], ...] = (
        lambda: system.engine.cancel(made.id, by="ops"),
        lambda: system.engine.listen([event.group]),
        lambda: system.engine.approve_as_vm(event.resources[0], [event.id]),
        lambda: system.fleets.put_vm(vm, by="ops"),
        system.read_to_end,
    )
    with suppress(Conflict):  # another thread was faster
        random.choice(actions)()


def all_together(system: System, seed: int) -> None:
    """Announce, approve, cancel, change the fleet and read at random in threads."""
    barrier = Barrier(THREADS)

    def command(number: int) -> None:
        random = Random(THREADS * seed + number)
        barrier.wait(LONG)
        for turn in range(TURNS):
            maintenance = announce_random(system, random, by=f"{number}-{turn}")
            act_randomly(system, maintenance, random)

    with ThreadPoolExecutor(THREADS) as pool:
        for done in [pool.submit(command, number) for number in range(THREADS)]:
            done.result(LONG)


@pytest.mark.parametrize("is_file", [True, False])
@pytest.mark.parametrize("seed", range(SEED, SEED + 2))
def test_concurrent_commands_lose_and_invent_nothing(
    open_store: OpenStore, tmp_path: Path, seed: int, is_file: bool
) -> None:
    system = a_system(open_store(tmp_path / "forewarn.db") if is_file else open_store())
    all_together(system, seed)
    check(system, [], [], f"seed {seed}")
    assert {fact.by for fact in system.facts(Announced)} == {
        f"{number}-{turn}" for number in range(THREADS) for turn in range(TURNS)
    }
    system.advance.by(24 * HOUR)
    check(system, [], [], f"seed {seed}")
    assert not any(maintenance.phase.is_live for maintenance in system.maintenances())


def test_concurrent_approvals_are_journaled_once(system: System) -> None:
    maintenance = system.announce(a_reboot(host="host-a"))
    of_web = next(event.id for event in maintenance.events if event.group == "web")
    barrier = Barrier(THREADS)

    def approve(number: int) -> None:
        barrier.wait(LONG)
        system.engine.approve_as_vm(f"web-{number % 3}", [of_web])

    with ThreadPoolExecutor(THREADS) as pool:
        for done in [pool.submit(approve, number) for number in range(THREADS)]:
            done.result(LONG)
    assert [fact.event for fact in system.facts(Approved)] == [of_web]
