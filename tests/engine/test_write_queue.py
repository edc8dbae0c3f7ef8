"""Write queue: urgent writes first, and writers of one rank in turn."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread

import pytest
from tests.end_to_end.program import until
from tests.engine.support.system import NOON, System, a_reboot
from tests.patience import PATIENCE

from forewarn.core.lifecycle.model import Via
from forewarn.core.lifecycle.operations import VmOperation, order_for
from forewarn.engine.operations import Operations, approve_each
from forewarn.engine.write_queue import MOST_WAITING, WriteQueue, WriteRank
from forewarn.errors import (
    Crowded,
    NotFound,
    Throttled,
    TooLate,
    TooMany,
    Unavailable,
    UnknownEvent,
)

SERVICE, OPERATOR, TENANT, VM, OBSERVATION = WriteRank


class Writers:
    """Writers that wait in the order in which they were added."""

    def __init__(self, queue: WriteQueue) -> None:
        self.queue = queue
        self._threads: list[Thread] = []
        self.served: list[str] = []

    def add(
        self,
        rank: WriteRank,
        name: str,
        act: Callable[[], object] = lambda: None,
    ) -> None:
        def write() -> None:
            with self.queue.turn(rank, name):
                self.served.append(name)
                act()

        before = self.queue.waiting
        self._threads.append(Thread(target=write, daemon=True))
        self._threads[-1].start()
        until(lambda: self.queue.waiting > before)

    def join(self) -> None:
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()


@contextmanager
def writers_behind_another() -> Iterator[Writers]:
    """Add writers while another one has the turn; then wait until all were served."""
    queue = WriteQueue(PATIENCE)
    writers = Writers(queue)
    with queue.turn(SERVICE, "another"):
        yield writers
    writers.join()
    assert queue.waiting == 0


def test_urgent_writes_come_first() -> None:
    with writers_behind_another() as writers:
        writers.add(VM, "web-0")
        writers.add(OPERATOR, "ops")
        writers.add(SERVICE, "timer")
    assert writers.served == ["timer", "ops", "web-0"]


def test_writers_of_one_rank_take_turns() -> None:
    with writers_behind_another() as writers:
        for name in ("greedy", "greedy", "greedy", "modest", "third"):
            writers.add(VM, name)
    assert writers.served == ["greedy", "modest", "third", "greedy", "greedy"]


def test_a_few_commands_of_operators_are_followed_by_another_write() -> None:
    with writers_behind_another() as writers:
        for _ in range(9):
            writers.add(OPERATOR, "ops")
        writers.add(VM, "web-0")
        writers.add(VM, "web-1")
    four = ["ops"] * 4
    assert writers.served == [*four, "web-0", *four, "web-1", "ops"]


def test_commands_of_tenants_and_vms_alternate() -> None:
    with writers_behind_another() as writers:
        for _ in range(3):
            writers.add(TENANT, "evil-team")
        for name in ("web-0", "web-1", "web-2"):
            writers.add(VM, name)
        writers.add(OBSERVATION, "reader")
        writers.add(OBSERVATION, "reader")
    assert writers.served == [
        *("web-0", "evil-team", "reader"),
        *("web-1", "evil-team", "reader"),
        *("web-2", "evil-team"),
    ]


def test_a_tenants_token_has_a_limited_number_of_waiting_commands() -> None:
    with writers_behind_another() as writers:
        for _ in range(MOST_WAITING):
            writers.add(TENANT, "evil-team")
        with (
            pytest.raises(Throttled, match=r"evil-team.*try again"),
            writers.queue.turn(TENANT, "evil-team"),
        ):
            pytest.fail("it must not wait")
        writers.add(TENANT, "web-team")
    assert writers.served.count("evil-team") == MOST_WAITING
    assert writers.queue.refused == {"waiting": 1, "time": 0}


def test_free_queue_does_not_wait() -> None:
    queue = WriteQueue(patience=0)
    for _ in range(2):
        with queue.turn(VM, "web-0"):
            pass


def test_writer_gives_up_after_its_patience() -> None:
    queue = WriteQueue(patience=0)
    with queue.turn(VM, "web-0"):
        with (
            pytest.raises(Unavailable, match="does not respond"),
            queue.turn(VM, "web-1"),
        ):
            pytest.fail("it is not its turn")
        assert queue.waiting == 0
    with queue.turn(VM, "web-1"):
        pass


def test_writer_overtaken_by_others_reports_no_store_failure(system: System) -> None:
    engine = system.engine
    engine.write_queue = queue = WriteQueue(patience=2)
    late: list[Exception] = []

    def approve() -> None:
        try:
            engine.listen(["web"])
        except Unavailable as error:
            late.append(error)

    thread = Thread(target=approve, daemon=True)
    with queue.turn(SERVICE, "first"):
        thread.start()
        until(lambda: queue.waiting == 1)
        others = Writers(queue)
        others.add(SERVICE, "second", thread.join)
    others.join()
    (error,) = late
    assert isinstance(error, Crowded)
    assert "too many commands are waiting" in str(error)
    assert engine.health.writes.failing_since is None
    assert not engine.is_in_doubt
    assert queue.refused == {"waiting": 0, "time": 1}


def test_failed_write_passes_the_turn_on() -> None:
    queue = WriteQueue(patience=0)
    with pytest.raises(ZeroDivisionError), queue.turn(VM, "web-0"):
        _ = 1 / 0
    with queue.turn(VM, "web-1"):
        pass


def test_unknown_events_are_refused_without_a_turn_to_write(system: System) -> None:
    known = system.announce(a_reboot("web-0")).events[0].id
    engine = system.engine
    with (
        engine.write_queue.turn(SERVICE, "another"),
        pytest.raises(UnknownEvent, match="NO-EVENT"),
    ):
        engine.approve_as_vm("web-0", [known, "NO-EVENT"], are_shown=False)


def test_a_groups_command_that_is_refused_needs_no_turn_to_write(
    system: System,
) -> None:
    operations = Operations(system.engine)
    restart = VmOperation.RESTART
    operations.operate(restart, order_for(restart, "web-0"), by="web-team", group="web")
    over = system.announce(a_reboot("web-1"))
    system.engine.cancel(over.id, by="ops")
    with system.engine.write_queue.turn(SERVICE, "another"):
        with pytest.raises(TooMany):
            operations.operate(
                restart, order_for(restart, "web-0"), by="web-team", group="web"
            )
        with pytest.raises(NotFound):
            operations.operate(
                restart, order_for(restart, "db-0"), by="web-team", group="web"
            )
        with pytest.raises(NotFound):
            system.engine.approve("NO-EVENT", by="web-team", group="web")
        with pytest.raises(TooLate):
            system.engine.approve(over.events[0].id, by="web-team", group="web")
        results = approve_each(
            system.engine,
            ["NO-EVENT", over.events[0].id],
            via=Via.ARM,
            is_seen=lambda event: True,
            by="web-team",
            group="web",
        )
    assert [*map(type, results.values())] == [NotFound, TooLate]
    assert operations.refused == {"vm": 1, "group": 0}


class RecordingQueue(WriteQueue):
    """A queue that records who takes a turn."""

    def __init__(self) -> None:
        super().__init__()
        self.turns: list[tuple[WriteRank, str]] = []

    @contextmanager
    def turn(self, rank: WriteRank, name: str) -> Iterator[None]:
        self.turns.append((rank, name))
        with super().turn(rank, name):
            yield


def test_rank_of_each_writer(system: System) -> None:
    engine, queue = system.engine, RecordingQueue()
    engine.write_queue = queue
    restart = VmOperation.RESTART
    order = order_for(restart, "web-0")
    operations = Operations(engine)

    def turns_of(command: Callable[[], object]) -> list[tuple[WriteRank, str]]:
        queue.turns.clear()
        command()
        return queue.turns

    first = system.announce(a_reboot("web-1")).events[0].id
    second = system.announce(a_reboot("db-0")).events[0].id
    third = system.announce(a_reboot("web-2")).events[0].id
    assert turns_of(engine.beat) == [(SERVICE, "forewarn")]
    assert turns_of(lambda: engine.announce(a_reboot("web-0"), by="ops")) == [
        (OPERATOR, "ops")
    ]
    assert turns_of(lambda: engine.approve(second, by="ops")) == [(OPERATOR, "ops")]
    assert turns_of(lambda: engine.approve_as_vm("web-1", [first])) == [(VM, "web-1")]
    by_team = [(TENANT, "team")]
    assert by_team == turns_of(
        lambda: operations.operate(restart, order, by="team", group="web")
    )
    assert by_team == turns_of(lambda: engine.approve(third, by="team", group="web"))


def test_readers_save_observations_with_one_write_after_others(system: System) -> None:
    engine = system.engine
    system.observations.add_poll("web", NOON)
    readers = [Thread(target=engine.save_observations, daemon=True) for _ in range(3)]
    with engine.write_queue.turn(SERVICE, "another"):
        for reader in readers:
            reader.start()
        until(lambda: engine.write_queue.waiting > 0)
        writers = Writers(engine.write_queue)
        writers.add(VM, "web-0", lambda: writers.served.append(last_request(system)))
        assert engine.write_queue.waiting == 2
    for thread in readers:
        thread.join(PATIENCE)
    writers.join()
    assert writers.served == ["web-0", "None"]
    assert last_request(system) == str(NOON)


def last_request(system: System) -> str:
    with system.store.snapshot() as snapshot:
        return str(snapshot.fleet().groups["web"].last_request)
