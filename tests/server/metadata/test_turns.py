"""Turns: no caller delays others, however much it sends on however many connections."""

from collections.abc import Callable

import pytest
from tests.server.support.connections import ClientConnection, FakePlane
from tests.server.support.dialogs import a_request
from tests.server.support.handlers import EVENTS

from forewarn.server.metadata.limits import ApprovalQueue, TurnQueue

PIPELINED = a_request(EVENTS, "Metadata: true")


class ManualRounds:
    """A turn queue whose rounds are started by the test."""

    def __init__(self) -> None:
        self._soon: list[Callable[[], None]] = []
        self.pauses: list[float] = []  # in seconds, before each round
        self.is_writing = False
        self.queue = TurnQueue(self._call_later, lambda: self.is_writing)

    def _call_later(self, seconds: float, serve: Callable[[], None]) -> None:
        self.pauses.append(seconds)
        self._soon.append(serve)

    def next(self) -> None:
        (serve,) = self._soon
        self._soon.clear()
        serve()

    @property
    def is_idle(self) -> bool:
        return not self._soon


class CountingConnection:
    """A connection that needs `turns` turns, and records them in `log`."""

    def __init__(
        self, queue: TurnQueue, caller: str, turns: int, log: list[str]
    ) -> None:
        self._queue, self._caller, self._left, self._log = queue, caller, turns, log
        queue.add(self, caller)

    def take_turn(self) -> None:
        self._log.append(self._caller)
        self._left -= 1
        if self._left:
            self._queue.add(self, self._caller)


def test_each_round_serves_every_caller_once() -> None:
    rounds, log = ManualRounds(), list[str]()
    for _ in range(3):
        CountingConnection(rounds.queue, "greedy", 2, log)
    CountingConnection(rounds.queue, "modest", 2, log)
    rounds.next()
    assert log == ["greedy", "modest"]
    rounds.next()
    assert sorted(log) == ["greedy"] * 2 + ["modest"] * 2
    for _ in range(4):
        rounds.next()
    assert log.count("greedy") == 6
    assert rounds.is_idle


def test_rounds_pause_while_something_is_written() -> None:
    rounds = ManualRounds()
    CountingConnection(rounds.queue, "greedy", 3, [])
    rounds.is_writing = True
    rounds.next()
    rounds.is_writing = False
    rounds.next()
    assert rounds.pauses == [0, 0.001, 0]


def test_error_in_a_turn_does_not_stop_the_turns_of_others() -> None:
    rounds, log = ManualRounds(), list[str]()

    class Broken:
        def take_turn(self) -> None:
            raise ZeroDivisionError

    rounds.queue.add(Broken(), "broken")
    CountingConnection(rounds.queue, "modest", 1, log)
    with pytest.raises(ZeroDivisionError):
        rounds.next()
    rounds.next()
    assert log == ["modest"]
    assert rounds.is_idle


def test_connections_of_one_caller_take_turns() -> None:
    rounds, served = ManualRounds(), list[int]()

    class Numbered:
        def __init__(self, number: int) -> None:
            self._number = number

        def take_turn(self) -> None:
            served.append(self._number)
            rounds.queue.add(self, "greedy")

    for number in range(3):
        rounds.queue.add(Numbered(number), "greedy")
    for _ in range(6):
        rounds.next()
    assert served == [0, 1, 2, 0, 1, 2]


def test_a_round_serves_a_bounded_number_of_callers_in_order() -> None:
    rounds, log = ManualRounds(), list[str]()
    for number in range(12):
        CountingConnection(rounds.queue, f"vm-{number}", 1, log)
    rounds.next()
    assert log == [f"vm-{number}" for number in range(8)]
    rounds.next()
    assert log == [f"vm-{number}" for number in range(12)]


def test_caller_is_served_a_few_reads_out_of_turn() -> None:
    rounds, log = ManualRounds(), list[str]()
    assert [rounds.queue.admits("greedy") for _ in range(6)] == [True] * 4 + [False] * 2
    assert rounds.queue.admits("modest")
    CountingConnection(rounds.queue, "greedy", 1, log)
    rounds.next()
    assert rounds.queue.admits("greedy")


def test_caller_whose_connection_waits_is_not_served_out_of_turn() -> None:
    rounds = ManualRounds()
    CountingConnection(rounds.queue, "greedy", 1, [])
    assert not rounds.queue.admits("greedy")


def test_pipelined_requests_of_one_vm_do_not_delay_another() -> None:
    plane, rounds = FakePlane(), ManualRounds()
    plane.turns = rounds.queue
    greedy = [ClientConnection(plane) for _ in range(3)]
    modest = ClientConnection(plane, "10.0.0.2")
    for connection in greedy:
        connection.send(PIPELINED * 100)
    assert [len(connection.statuses) for connection in greedy] == [16, 0, 0]
    modest.send(a_request(EVENTS, "Metadata: true", "Other: 1"))
    assert modest.statuses == [200]  # out of turn
    rounds.next()
    assert sum(len(connection.statuses) for connection in greedy) == 2 * 16
    while not rounds.is_idle:
        rounds.next()
    assert [connection.statuses for connection in greedy] == [[200] * 100] * 3


def test_connection_that_waits_for_its_turn_is_not_read() -> None:
    plane, rounds = FakePlane(), ManualRounds()
    plane.turns = rounds.queue
    connection = ClientConnection(plane)
    connection.send(PIPELINED * 40)
    assert connection.socket.done == ["pause"]
    rounds.next()
    assert connection.socket.done == ["pause"]
    rounds.next()
    assert connection.socket.done == ["pause", "resume"]
    assert connection.statuses == [200] * 40


def test_each_wait_for_a_turn_is_counted_once() -> None:
    plane, rounds = FakePlane(), ManualRounds()
    plane.turns = rounds.queue
    ClientConnection(plane).send(PIPELINED * 40)
    assert rounds.queue.deferred == 1
    rounds.next()
    assert rounds.queue.deferred == 2
    rounds.next()
    assert rounds.queue.deferred == 2
    assert rounds.is_idle


def test_client_that_does_not_read_gets_no_turn() -> None:
    plane, rounds = FakePlane(), ManualRounds()
    plane.turns = rounds.queue
    connection = ClientConnection(plane)
    connection.socket.is_read = False
    connection.send(PIPELINED * 1000)
    while not rounds.is_idle:
        rounds.next()
    written = len(connection.socket.written)
    assert written < 3 * 64 * 1024
    connection.socket.read_all()
    rounds.next()
    assert len(connection.socket.written) > written


def test_approval_of_another_group_is_second_after_a_group_of_many_vms() -> None:
    begun = list[str]()
    queue = ApprovalQueue[str](begun.append, at_once=2)
    for number in range(250):
        assert queue.add("evil", f"evil-{number}", f"evil-{number}")
    assert queue.add("good", "good-0", "good-0")
    assert begun == ["evil-0", "evil-1"]
    queue.finish("evil-0")
    queue.finish("evil-1")
    assert begun[2:] == ["evil-2", "good-0"]


def test_vms_of_a_group_take_turns_to_approve() -> None:
    begun = list[str]()
    queue = ApprovalQueue[str](begun.append, at_once=1)
    for vm in ("a", "a", "b"):
        assert queue.add("group", vm, vm)
    queue.finish("a")
    assert queue.add("group", "a", "a")
    queue.finish("a")
    queue.finish("b")
    assert begun == ["a", "a", "b", "a"]


def test_third_approval_of_a_vm_is_refused_even_if_none_is_in_progress() -> None:
    queue = ApprovalQueue[str](lambda approval: None, at_once=1)
    assert queue.add("other", "other", "first")
    assert [queue.add("group", "vm", "next") for _ in range(3)] == [True, True, False]
    queue.finish("other")
    assert not queue.add("group", "vm", "next")
    queue.finish("vm")
    assert queue.add("group", "vm", "next")
