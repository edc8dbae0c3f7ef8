"""Long polls of the real program: clients leave, the program stops, time passes."""

import json
import random
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from urllib.request import Request, urlopen

import pytest
from tests.end_to_end.program import SOON, Program, serving, until
from tests.patience import PATIENCE
from tests.server.support.dialogs import a_post, a_request
from tests.server.support.pollers import Poller, events_of

GET = a_request(events_of("web-0"), "Metadata: true")


@contextmanager
def waiting(program: Program, count: int) -> Iterator[list[Poller]]:
    """Hold `count` long polls for the next document of web-0."""
    with ExitStack() as stack:
        pollers = [
            stack.enter_context(Poller(program.metadata[0])) for _ in range(count)
        ]
        tag = pollers[0].tag()
        for poller in pollers:
            poller.hold(tag=tag)
        yield pollers


# --- time --------------------------------------------------------------------


@pytest.mark.full
@pytest.mark.parametrize("clock", ["system", "x3600", "manual"])
def test_a_long_poll_waits_in_real_time_with_any_clock(
    tmp_path: Path, clock: str
) -> None:
    with (
        serving(tmp_path, "--clock", clock) as program,
        Poller(program.metadata[0]) as poller,
    ):
        begun = time.monotonic()
        poller.start_long_poll(1)
        assert poller.answer().status == 304
        assert time.monotonic() - begun >= 1


# --- clients that leave ------------------------------------------------------


WAYS = ("close", "half-close", "reset", "amid the next request")


def leave(poller: Poller, way: str) -> None:
    if way == "half-close":
        poller.socket.shutdown(socket.SHUT_WR)
        assert poller.answer().status == 304
        assert poller.is_closed()
    elif way == "reset":
        poller.reset()
    elif way == "amid the next request":
        poller.socket.sendall(GET[:30])
    poller.socket.close()


@pytest.mark.full
@pytest.mark.parametrize(
    "way", ["close", "half-close", "reset", "amid the next request"]
)
def test_disconnected_clients_are_dropped_immediately(tmp_path: Path, way: str) -> None:
    with serving(tmp_path) as program, Poller(program.metadata[0]) as staying:
        staying.hold()
        before = program.sockets
        with waiting(program, 200) as pollers:
            assert program.sockets == before + 200
            for poller in pollers:
                leave(poller, way)
            until(lambda: program.sockets == before, SOON)
        program.service.announce(vms=["web-0"])
        assert staying.answer().status == 200
        assert program.stop()[0] == 0
        assert program.log == ""


@pytest.mark.full
def test_clients_that_come_and_go_leave_no_sockets(tmp_path: Path) -> None:
    dice = random.Random(7)
    with serving(tmp_path) as program:
        program.service.announce(vms=["web-0"])
        before = program.sockets
        for _ in range(6):
            with waiting(program, 60) as pollers:
                dice.shuffle(pollers)
                for poller in pollers[:30]:
                    leave(poller, dice.choice(WAYS))
                program.service.announce(vms=["web-0"])
                for poller in pollers[30:]:
                    assert poller.answer().status == 200
        until(lambda: program.sockets <= before, SOON)
        assert len(program.service.document("web-1")["Events"]) == 7
        assert program.stop()[0] == 0
        assert program.log == ""


# --- a program that stops ----------------------------------------------------


def test_a_thousand_long_polls_get_a_response_when_the_program_stops(
    tmp_path: Path,
) -> None:
    with serving(tmp_path) as program, waiting(program, 1000) as pollers:
        code, seconds = program.stop()
        assert code == 0
        assert seconds < SOON
        assert program.log == ""
        for poller in pollers:
            response = poller.answer()
            assert (response.status, response.header(b"connection")) == (304, b"close")
            assert poller.is_closed()


@pytest.mark.full
def test_clients_that_do_not_read_do_not_block_a_stop(tmp_path: Path) -> None:
    with serving(tmp_path) as program, waiting(program, 10):
        for _ in range(40):
            program.service.announce(vms=["web-0"])
        where = program.metadata[0]
        with Poller(where) as deaf, Poller(where) as late:
            for poller in (deaf, late):
                poller.socket.setblocking(False)
                poller.socket.send(GET * 3000)
            follow = Request(
                f"{program.service.control}/v1/stream",
                headers={"Authorization": "Bearer t", "Last-Event-ID": "0"},
            )
            with urlopen(follow, timeout=PATIENCE):
                code, seconds = program.stop()
        assert code == 0
        assert seconds < SOON
        assert "Traceback" not in program.log


@pytest.mark.full
def test_clients_of_both_planes_do_not_block_a_stop(
    tmp_path: Path,
) -> None:
    with (
        serving(tmp_path) as program,
        Poller(program.metadata[0]) as deaf,
        Poller(program.service.control) as halfway,
    ):
        for _ in range(20):
            program.service.announce(vms=["web-0"])
        deaf.socket.setblocking(False)
        deaf.socket.send(GET * 3000)
        bearer, length = "Authorization: Bearer t", "Content-Length: 9"
        request = a_request(
            "/v1/vms/web-0", bearer, length, host="Host: localhost", method="PUT"
        )
        halfway.socket.sendall(request + b"{")
        until(lambda: program.service.as_vm("web-1").status == 200)
        code, seconds = program.stop()
        assert code == 0
        assert seconds < SOON


@pytest.mark.full
def test_approvals_acknowledged_during_a_stop_are_kept(
    tmp_path: Path,
) -> None:
    with serving(tmp_path) as program, ExitStack() as stack:
        maintenances = [program.service.announce(vms=["web-0"]) for _ in range(8)]
        events = [maintenance["events"][0]["id"] for maintenance in maintenances]
        posts = []
        for event in events:
            poller = stack.enter_context(Poller(program.metadata[0]))
            body = json.dumps({"StartRequests": [{"EventId": event}]}).encode()
            post = a_post(body, "Metadata: true", target=events_of("web-0"))
            poller.socket.sendall(post)
            posts.append(poller)
        assert posts[0].answer().status == 200
        code, seconds = program.stop()
        assert code == 0
        assert seconds < SOON
        answered = [events[0]]
        for event, poller in zip(events[1:], posts[1:], strict=True):
            if poller.is_answered() and not poller.is_closed():
                answered.append(event)
    with serving(tmp_path) as program:
        for event in answered:
            stored = program.service.get(f"/v1/events/{event}")
            assert stored["approved_by"] == "web-0"
