"""Write queue: urgent writes first, and writers of one rank in turn."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import pytest
from tests.end_to_end.program import until
from tests.engine.support.system import System, a_reboot
from tests.patience import PATIENCE

from forewarn.engine.write_queue import WriteQueue, WriteRank
from forewarn.errors import Unavailable, UnknownEvent

SERVICE, COMMAND, POLL = WriteRank


class Writers:
    """Writers that wait in the order in which they were added."""

    def __init__(self, queue: WriteQueue) -> None:
        self._queue = queue
        self._threads: list[Thread] = []
        self.served: list[str] = []

    def add(self, rank: WriteRank, name: str) -> None:
        def write() -> None:
            with self._queue.turn(rank, name):
                self.served.append(name)

        before = self._queue.waiting
        self._threads.append(Thread(target=write, daemon=True))
        self._threads[-1].start()
        until(lambda: self._queue.waiting > before)

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
        writers.add(POLL, "web-0")
        writers.add(COMMAND, "ops")
        writers.add(SERVICE, "timer")
    assert writers.served == ["timer", "ops", "web-0"]


def test_writers_of_one_rank_take_turns() -> None:
    with writers_behind_another() as writers:
        for name in ("greedy", "greedy", "greedy", "modest", "third"):
            writers.add(POLL, name)
    assert writers.served == ["greedy", "modest", "third", "greedy", "greedy"]


def test_free_queue_does_not_wait() -> None:
    queue = WriteQueue(patience=0)
    for _ in range(2):
        with queue.turn(POLL, "web-0"):
            pass


def test_writer_gives_up_after_its_patience() -> None:
    queue = WriteQueue(patience=0)
    with queue.turn(POLL, "web-0"):
        with (
            pytest.raises(Unavailable, match="does not answer"),
            queue.turn(POLL, "web-1"),
        ):
            pytest.fail("it is not its turn")
        assert queue.waiting == 0
    with queue.turn(POLL, "web-1"):
        pass


def test_failed_write_passes_the_turn_on() -> None:
    queue = WriteQueue(patience=0)
    with pytest.raises(ZeroDivisionError), queue.turn(POLL, "web-0"):
        _ = 1 / 0
    with queue.turn(POLL, "web-1"):
        pass


def test_unknown_events_are_refused_without_a_turn_to_write(system: System) -> None:
    known = system.announce(a_reboot("web-0")).events[0].id
    engine = system.engine
    with (
        engine.write_queue.turn(SERVICE, "another"),
        pytest.raises(UnknownEvent, match="NO-EVENT"),
    ):
        engine.approve_as_vm("web-0", [known, "NO-EVENT"], are_shown=False)
