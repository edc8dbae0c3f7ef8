"""What becomes of requests that a fault befalls; without sockets or real time."""

import pytest
from tests.server.lines import Line, Plane, a_poll
from tests.server.reception import EVENTS, WEB, a_reception, an_event, shown
from tests.server.talk import a_post, a_request

from forewarn.engine.documents import Update
from forewarn.errors import NotFound
from forewarn.server.befallen import cut
from forewarn.server.faults import Fault, fault_of
from forewarn.server.metadata import Approve
from forewarn.server.requests import Request
from forewarn.server.responses import Response
from forewarn.server.witness import Asked

GET = a_request(EVENTS, "Metadata: true")
POST = a_post(b'{"StartRequests":[{"EventId":"E0"}]}', "Metadata: true", target=EVENTS)
WRONG_POST = a_post(b"nonsense", "Metadata: true", target=EVENTS)


class Notebook:
    """A witness that writes down what he hears."""

    def __init__(self) -> None:
        self.heard: list[Asked] = []

    def take(self, request: Request, body: bytes) -> Response | None:
        return None

    def came(self, vm: str | None, at: float) -> None:
        pass

    def answered(self, asked: Asked) -> None:
        self.heard.append(asked)


def a_line(*faults: Fault) -> Line:
    """A line of web-0 to a plane where `faults` are in force."""
    plane = Plane(a_reception(shown(WEB, an_event())))
    for each in faults:
        plane.inflicting.add(each, by="admin", at=plane.desk.stamp.now)
    plane.witness = Notebook()
    return Line(plane)


def heard(line: Line) -> list[tuple[int, str | None]]:
    assert isinstance(line.plane.witness, Notebook)
    return [(each.status, each.fault) for each in line.plane.witness.heard]


def approve(line: Line) -> None:
    """Carry out the approval that `line` has asked for."""
    assert isinstance(line.plane.deferred[-1], Approve)
    line.wire.approved(None)


def announce(line: Line) -> None:
    """Let the document of web-0 be another one."""
    update = Update(position=2, shown=[shown(WEB, an_event(), an_event("E1"))])
    line.plane.change(update)


# --- refusals ----------------------------------------------------------------


@pytest.mark.parametrize("kind", ["429", "410", "500", "503"])
def test_a_refusal_is_json_with_its_status(kind: str) -> None:
    line = a_line(fault_of(kind, count=1))
    line.send(GET + GET)
    refused, answered = line.said
    assert refused.status == int(kind)
    assert refused.body.startswith(b'{ "error": "')
    assert refused.header(b"content-type") == b"application/json; charset=utf-8"
    assert answered.status == 200
    assert heard(line) == [(int(kind), kind), (200, None)]


@pytest.mark.parametrize("kind", ["429", "503"])
def test_some_refusals_say_how_long_to_wait(kind: str) -> None:
    line = a_line(fault_of(kind, retry_after=7))
    line.send(GET)
    (said,) = line.said
    assert said.header(b"retry-after") == b"7"


@pytest.mark.parametrize("kind", ["429", "410", "500", "503"])
def test_an_approval_that_is_refused_is_not_carried_out(kind: str) -> None:
    line = a_line(fault_of(kind))
    line.send(POST)
    assert line.statuses == [int(kind)]
    assert line.plane.deferred == []


def test_an_empty_answer_is_a_200_without_a_body() -> None:
    line = a_line(fault_of("empty"))
    line.send(GET)
    (said,) = line.said
    assert (said.status, said.body) == (200, b"")
    assert said.header(b"content-length") == b"0"
    assert heard(line) == [(200, "empty")]


# --- which requests ----------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "status"),
    [
        (a_request(EVENTS), 400),
        (a_request("/metadata/scheduledevents", "Metadata: true"), 400),
        (a_request(EVENTS, "Metadata: true", method="PUT"), 405),
        (a_request("/metadata/versions", "Metadata: true"), 200),
        (
            a_request("/metadata/instance?api-version=2021-02-01", "Metadata: true"),
            200,
        ),
    ],
)
def test_what_is_not_about_events_is_answered_as_ever(data: bytes, status: int) -> None:
    line = a_line(fault_of("503"))
    line.send(data)
    assert line.statuses == [status]
    assert heard(line) == [(status, None)]


def test_who_is_not_known_is_told_so_as_ever() -> None:
    line = Line(a_line(fault_of("503")).plane, peer="10.9.9.9")
    line.send(GET)
    assert line.statuses == [404]


def test_a_fault_of_another_vm_is_none() -> None:
    line = a_line(fault_of("503", vms=["WEB-1"]))
    other = Line(line.plane, peer="10.0.0.2")
    line.send(GET)
    other.send(GET)
    assert (line.statuses, other.statuses) == ([200], [503])


def test_a_vm_that_there_is_not_cannot_be_befallen() -> None:
    with pytest.raises(NotFound, match="there is no VM web-9"):
        a_line(fault_of("503", vms=["web-9"]))


# --- every answer says so ----------------------------------------------------


def test_while_there_are_faults_every_answer_says_so() -> None:
    line = a_line(fault_of("503", on="approve"), fault_of("slow", vms=["web-1"]))
    line.send(GET)
    (said,) = line.said
    assert said.header(b"forewarn-faults") == b"503, slow"


def test_the_last_answer_that_is_befallen_says_so_and_the_next_does_not() -> None:
    line = a_line(fault_of("503", count=1))
    line.send(GET)
    line.wait(1)
    line.send(GET)
    first, second = line.said
    assert first.header(b"forewarn-faults") == b"503"
    assert second.header(b"forewarn-faults") is None


def test_a_fault_that_has_ended_is_forgotten_also_if_nobody_asks() -> None:
    line = a_line(fault_of("503", seconds=5))
    line.wait(4)
    assert line.plane.faults.kinds == ["503"]
    line.wait(1)
    assert line.plane.faults.kinds == []
    line.send(GET)
    assert line.statuses == [200]


# --- late answers ------------------------------------------------------------


def test_a_slow_answer_shows_the_document_as_it_is_by_then() -> None:
    line = a_line(fault_of("slow", delay=3))
    line.send(GET)
    line.wait(2)
    announce(line)
    assert line.statuses == []
    line.wait(1)
    (said,) = line.said
    assert b'"DocumentIncarnation":2' in said.body
    assert heard(line) == [(200, "slow")]


def test_an_approval_is_carried_out_at_once_and_answered_late() -> None:
    line = a_line(fault_of("slow", delay=3))
    line.send(POST)
    approve(line)
    line.wait(2)
    assert line.statuses == []
    line.wait(1)
    assert line.statuses == [200]
    assert heard(line) == [(200, "slow")]


def test_that_an_approval_is_wrong_is_told_late_too() -> None:
    line = a_line(fault_of("slow", delay=3))
    line.send(WRONG_POST)
    assert line.statuses == []
    line.wait(3)
    assert line.statuses == [400]


def test_a_fault_that_is_cleared_meanwhile_changes_no_late_answer() -> None:
    line = a_line(fault_of("slow", delay=3))
    line.send(GET)
    line.plane.inflicting.clear(None)
    line.send(GET)
    assert line.statuses == []
    line.wait(3)
    assert line.statuses == [200, 200]
    assert heard(line) == [(200, "slow"), (200, None)]


def test_a_slow_poll_is_held_afterwards_as_ever() -> None:
    line = a_line(fault_of("slow", delay=3))
    line.send(a_poll("wait=30", tag='"e0.1"'))
    line.wait(5)
    assert line.plane.waiters() == 1
    announce(line)
    assert line.statuses == [200]
    line.wait(40)
    assert heard(line) == [(200, "slow")]


def test_a_change_does_not_hasten_a_slow_poll() -> None:
    line = a_line(fault_of("slow", delay=3))
    line.send(a_poll("wait=30", tag='"e0.1"'))
    announce(line)
    assert line.statuses == []
    line.wait(3)
    assert line.statuses == [200]


def test_a_first_call_is_late_and_the_next_is_not() -> None:
    line = a_line(fault_of("slow-first-call", delay=3))
    line.send(GET)
    line.wait(3)
    line.send(GET)
    assert line.statuses == [200, 200]


@pytest.mark.parametrize("data", [GET, a_poll("wait=30", tag='"e0.1"'), WRONG_POST])
def test_when_the_service_stops_who_waits_is_answered_at_once(data: bytes) -> None:
    line = a_line(fault_of("slow", delay=3))
    line.send(data)
    line.wire.leave()
    assert len(line.statuses) == 1
    assert line.socket.done == ["close"]


def test_an_approval_that_ends_when_the_service_stops_is_answered_at_once() -> None:
    line = a_line(fault_of("slow", delay=3))
    line.send(POST)
    line.wire.leave()
    approve(line)
    assert line.statuses == [200]


def test_a_late_answer_to_who_has_gone_is_dropped() -> None:
    line = a_line(fault_of("slow", delay=3))
    line.send(GET)
    line.hang_up()
    line.wait(5)
    assert line.socket.written == b""
    assert line.plane.loop.alarms == []
    assert heard(line) == []


# --- connections that end ----------------------------------------------------


def test_a_read_is_reset_instead_of_an_answer() -> None:
    line = a_line(fault_of("reset"))
    line.send(GET)
    assert line.socket.written == b""
    assert line.socket.done == ["linger 0", "abort"]
    assert heard(line) == [(0, "reset")]


def test_a_poll_is_reset_at_once() -> None:
    line = a_line(fault_of("reset"))
    line.send(a_poll("wait=30", tag='"e0.1"'))
    assert line.socket.done == ["linger 0", "abort"]


def test_an_approval_is_carried_out_before_the_reset() -> None:
    line = a_line(fault_of("reset"))
    line.send(POST)
    assert line.socket.done == []
    approve(line)
    assert line.socket.written == b""
    assert line.socket.done == ["linger 0", "abort"]
    assert heard(line) == [(0, "reset")]


@pytest.mark.parametrize(
    "data", [GET, a_poll(None, tag='"e0.1"'), a_poll("wait=30", tag='"e0.1"')]
)
def test_a_document_is_cut_in_the_middle_whatever_the_caller_knows(data: bytes) -> None:
    whole = a_line()
    whole.send(GET)
    line = a_line(fault_of("truncated"))
    line.send(data)
    (expected,) = whole.said
    head, _, body = line.socket.written.partition(b"\r\n\r\n")
    assert b"HTTP/1.1 200 OK" in head
    assert f"Content-Length: {len(expected.body)}".encode() in head
    assert body == expected.body[: len(expected.body) // 2]
    assert line.socket.done == ["close"]
    assert heard(line) == [(0, "truncated")]


def test_an_approval_is_carried_out_before_its_answer_is_cut() -> None:
    line = a_line(fault_of("truncated"))
    line.send(POST)
    approve(line)
    assert line.socket.written == b"HTTP/1."
    assert line.socket.done == ["close"]
    assert heard(line) == [(0, "truncated")]


def test_after_what_was_cut_nothing_is_answered() -> None:
    line = a_line(fault_of("truncated", count=1))
    line.send(GET + GET)
    cut_off = line.socket.written
    line.send(GET)
    assert line.socket.written == cut_off
    assert cut_off.count(b"HTTP/1.1") == 1


def test_a_client_cannot_take_half_an_answer_for_a_whole_one() -> None:
    assert cut(b"HTTP/1.1 200 OK\r\nA: b\r\n\r\n") == b"HTTP/1."
    assert cut(b"HTTP/1.1 200 OK\r\n\r\nabcd") == b"HTTP/1.1 200 OK\r\n\r\nab"


# --- what is stale -----------------------------------------------------------


def test_what_is_stale_is_shown_as_it_was() -> None:
    line = a_line(fault_of("stale"))
    announce(line)
    line.send(GET)
    (said,) = line.said
    assert b'"DocumentIncarnation":1' in said.body
    assert said.header(b"etag") == b'"e0.1"'


def test_who_has_seen_more_is_shown_what_is_stale() -> None:
    line = a_line(fault_of("stale"))
    announce(line)
    line.send(a_poll("wait=30", tag='"e0.2"'))
    (said,) = line.said
    assert said.header(b"etag") == b'"e0.1"'


def test_a_poll_for_more_than_what_is_stale_waits_in_vain() -> None:
    line = a_line(fault_of("stale"))
    line.send(a_poll("wait=30", tag='"e0.1"'))
    announce(line)
    line.wait(29)
    assert line.statuses == []
    line.wait(1)
    (said,) = line.said
    assert (said.status, said.header(b"etag")) == (304, b'"e0.1"')
    assert heard(line) == [(304, "stale")]


@pytest.mark.parametrize("how", ["cleared", "over"])
def test_when_it_ends_those_who_wait_see_what_is_true(how: str) -> None:
    line = a_line(fault_of("stale", seconds=5))
    line.send(a_poll("wait=30", tag='"e0.1"'))
    announce(line)
    assert line.statuses == []
    if how == "cleared":
        line.plane.inflicting.clear("f1")
    else:
        line.wait(5)
    (said,) = line.said
    assert said.header(b"etag") == b'"e0.2"'
    assert said.header(b"forewarn-faults") is None


def test_what_is_stale_is_noted_to_have_been_seen() -> None:
    line = a_line(fault_of("stale"))
    announce(line)
    line.send(GET)
    assert line.plane.reception.seen() == [("web-0", "E0")]


# --- who waits already -------------------------------------------------------


def test_who_waits_for_a_change_is_let_go_so_that_he_meets_the_fault() -> None:
    line = a_line()
    line.send(a_poll("wait=30", tag='"e0.1"'))
    assert line.statuses == []
    line.plane.inflicting.add(fault_of("503"), by="admin", at=line.plane.desk.stamp.now)
    line.send(a_poll("wait=30", tag='"e0.1"'))
    assert line.statuses == [304, 503]
