"""How many connections a VM may have, and how many there may be in all."""

import logging
import tracemalloc
from dataclasses import replace

import pytest
from tests.server.support.connections import Line, Plane
from tests.server.support.dialogs import a_request
from tests.server.support.handlers import EVENTS, VMS, a_reception, shown

from forewarn.engine.readers.documents import DocumentUpdate
from forewarn.server.metadata.limits import Admission, ConnectionLimits

GET = a_request(EVENTS, "Metadata: true")
ADMITTED, REFUSED, DROPPED = Admission.ADMITTED, Admission.REFUSED, Admission.DROPPED

OTHER = "10.0.0.2"


def test_one_connection_too_many_is_told_so_and_closed() -> None:
    plane = Plane(per_vm=2)
    kept = [Line(plane) for _ in range(2)]
    more = Line(plane)
    (said,) = more.said
    assert said.status == 503
    assert said.header(b"retry-after") == b"1"
    assert said.header(b"connection") == b"close"
    assert b'"error"' in said.body
    assert more.socket.done == ["write_eof"]
    for line in kept:
        line.send(GET)
        assert line.statuses == [200]


def test_a_refused_connection_is_read_for_two_seconds_and_answered_no_more() -> None:
    plane = Plane(per_vm=1)
    Line(plane)
    more = Line(plane)
    more.send(GET)
    more.wait(3)
    assert more.statuses == [503]
    assert more.socket.done == ["write_eof", "abort"]


def test_all_addresses_of_a_vm_are_counted_together() -> None:
    plane = Plane(per_vm=1)
    lines = [Line(plane, peer) for peer in (OTHER, "fd00::2", "10.0.0.1")]
    assert [line.statuses for line in lines] == [[], [503], []]


@pytest.mark.parametrize(("is_open", "refused"), [(False, [503]), (True, [])])
def test_strangers_are_told_apart_only_where_they_must_be(
    is_open: bool, refused: list[int]
) -> None:
    plane = Plane(a_reception(is_open=is_open), per_vm=1)
    lines = [Line(plane, peer) for peer in ("10.9.9.1", "10.9.9.1", "10.9.9.2")]
    assert [line.statuses for line in lines] == [[], refused, []]


def test_whoever_closes_one_may_open_another() -> None:
    plane = Plane(per_vm=2)
    lines = [Line(plane) for _ in range(2)]
    for _ in range(10):
        assert Line(plane).statuses == [503]
        lines.pop(0).hang_up()
        lines.append(Line(plane))
        lines[-1].send(GET)
        assert lines[-1].statuses == [200]


def test_a_refused_connection_that_goes_frees_no_place() -> None:
    plane = Plane(per_vm=1)
    Line(plane)
    Line(plane).hang_up()
    assert Line(plane).statuses == [503]


def test_a_connection_is_counted_for_whom_it_was_when_it_came() -> None:
    plane = Plane(per_vm=1)
    line = Line(plane, "10.0.0.7")
    moved = replace(VMS[0], addresses=("10.0.0.7",))
    plane.change(DocumentUpdate(position=1, shown=[shown()], placed=[moved]))
    lines = [Line(plane, "10.0.0.7") for _ in range(2)]
    assert [each.statuses for each in lines] == [[], [503]]
    line.hang_up()
    assert Line(plane, "10.0.0.7").statuses == [503]


def test_one_too_many_in_all_is_closed_without_a_word() -> None:
    plane = Plane(total=2)
    kept = [Line(plane), Line(plane, OTHER)]
    more = Line(plane, "10.0.0.3")
    assert (more.socket.written, more.socket.done) == (b"", ["abort"])
    more.hang_up()
    kept[0].hang_up()
    again = Line(plane, "10.0.0.3")
    assert again.socket.done == []


def test_whoever_floods_takes_no_place_from_others() -> None:
    connections = ConnectionLimits(per_vm=1, total=200)
    connections.admit("a")
    flood = [connections.admit("a") for _ in range(1000)]
    assert flood.count(REFUSED) == 64
    assert flood.count(DROPPED) == 936
    assert [connections.admit(f"vm-{n}") for n in range(135)] == [ADMITTED] * 135


def test_whoever_floods_and_stops_is_told_again() -> None:
    connections = ConnectionLimits(per_vm=1, total=200)
    connections.admit("a")
    for _ in range(200):
        assert connections.admit("a") is REFUSED
        connections.release("a", REFUSED)


def test_callers_that_have_gone_cost_nothing() -> None:
    connections = ConnectionLimits(per_vm=1, total=200)
    tracemalloc.start()
    for number in range(10_000):
        connections.release(str(number), connections.admit(str(number)))
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert held < 100_000


def test_the_count_is_right_after_any_coming_and_going() -> None:
    connections = ConnectionLimits(per_vm=3, total=5)
    for _ in range(50):
        verdicts = [(who, connections.admit(who)) for who in ("a", None) * 8]
        assert [v for _, v in verdicts].count(ADMITTED) == 5
        for who, verdict in verdicts:
            connections.release(who, verdict)


@pytest.mark.parametrize("who", ["a", None])
def test_too_many_are_complained_of_once_until_it_gets_better(
    who: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    connections = ConnectionLimits(per_vm=4 if who else 99, total=99 if who else 4)

    def complaints() -> int:
        with caplog.at_level(logging.WARNING):
            refused = connections.admit(who)
        assert refused is not ADMITTED
        connections.release(who, refused)
        return len(caplog.records)

    for _ in range(4):
        connections.admit(who)
    assert [complaints(), complaints()] == [1, 1]
    connections.release(who, ADMITTED)
    connections.admit(who)
    assert complaints() == 1
    for _ in range(2):
        connections.release(who, ADMITTED)
    for _ in range(2):
        connections.admit(who)
    assert [complaints(), complaints()] == [2, 2]
