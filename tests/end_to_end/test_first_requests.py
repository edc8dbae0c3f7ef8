"""The real program where the first call of a silent group is answered late."""

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from tests.end_to_end.program import SOON, Program, serving, until
from tests.server.support.dialogs import a_post, a_request
from tests.server.support.pollers import Poller, events_of

#: Both groups are silent until they ask for the first time.
FLEET = """\
[[groups]]
name = "web"
kind = "availability-set"
[[vms]]
name = "web-0"
group = "web"
[[vms]]
name = "web-1"
group = "web"
[[vms]]
name = "lone"
"""

DELAY = 4  # seconds
AT_ONCE = 3.0  # seconds: less than the delay
NEVER = "120"  # seconds: longer than any test

GET = a_request(events_of("web-0"), "Metadata: true")


@contextmanager
def answering_after(
    folder: Path, delay: str, *, clock: str = "manual"
) -> Iterator[Program]:
    """Serve the fleet, with a first call that takes `delay` seconds."""
    fleet = folder / "fleet.toml"
    fleet.write_text(FLEET)
    with serving(
        folder, "--clock", clock, fleet=fleet, FOREWARN_FIRST_CALL_DELAY=delay
    ) as program:
        yield program


def began(program: Program) -> bool:
    """Whether a silence is over."""
    return len(program.service.facts("ListeningBegan")) == 1


@pytest.mark.full
def test_a_group_is_answered_late_while_it_is_switched_on_and_then_at_once(
    tmp_path: Path,
) -> None:
    with (
        answering_after(tmp_path, str(DELAY)) as program,
        Poller(program.metadata[0]) as first,
        Poller(program.metadata[0], "web-1") as second,
    ):
        start = time.monotonic()
        first.socket.sendall(GET)
        until(lambda: began(program))
        second.socket.sendall(GET)
        program.service.announce(vms=["web-1"])
        said = first.answer()
        late = time.monotonic() - start
        assert second.answer().status == 200
        assert DELAY <= late <= time.monotonic() - start < late + AT_ONCE
        assert json.loads(said.body)["DocumentIncarnation"] == 1
        start = time.monotonic()
        assert first.ask().status == 200
        assert second.ask().status == 200
        assert time.monotonic() - start < AT_ONCE
        assert began(program)


@pytest.mark.full
def test_an_approval_is_carried_out_though_its_client_does_not_wait(
    tmp_path: Path,
) -> None:
    with answering_after(tmp_path, NEVER) as program:
        before = program.sockets
        made = program.service.announce(vms=["web-0"])
        event = made["events"][0]["id"]
        body = json.dumps({"StartRequests": [{"EventId": event}]}).encode()
        with Poller(program.metadata[0]) as poller:
            post = a_post(body, "Metadata: true", target=events_of("web-0"))
            poller.socket.sendall(post)
            until(lambda: len(program.service.facts("Approved")) == 1)
            assert not poller.is_answered()
        until(lambda: program.sockets == before)
        found = program.service.get(f"/v1/events/{event}")
        assert found["approved_by"] == "web-0"


def test_first_calls_do_not_keep_a_program_that_stops(tmp_path: Path) -> None:
    with (
        answering_after(tmp_path, NEVER) as program,
        Poller(program.metadata[0]) as web,
        Poller(program.metadata[0], "lone") as lone,
    ):
        web.socket.sendall(GET)
        lone.socket.sendall(a_request(events_of("lone"), "Metadata: true"))
        until(lambda: len(program.service.facts("ListeningBegan")) == 2)
        code, seconds = program.stop()
        assert code == 0
        assert seconds < SOON
        for poller in (web, lone):
            said = poller.answer()
            assert (said.status, said.header(b"connection")) == (200, b"close")
        assert program.log == ""


@pytest.mark.full
def test_a_first_call_is_answered_though_the_clock_runs_a_day_meanwhile(
    tmp_path: Path,
) -> None:
    with (
        answering_after(tmp_path, str(DELAY), clock="x99999") as program,
        Poller(program.metadata[0]) as poller,
    ):
        start = time.monotonic()
        assert poller.ask().status == 200
        assert time.monotonic() - start >= DELAY
        assert began(program)


@pytest.mark.full
def test_a_group_whose_first_caller_is_gone_is_switched_on_all_the_same(
    tmp_path: Path,
) -> None:
    with answering_after(tmp_path, str(DELAY)) as program:
        before = program.sockets
        with closing(sqlite3.connect(tmp_path / "state" / "forewarn.db")) as store:
            store.execute("BEGIN IMMEDIATE")  # so that the group cannot begin yet
            with Poller(program.metadata[0]) as poller:
                poller.socket.sendall(GET)
                until(lambda: program.sockets > before)
                poller.reset()
            until(lambda: program.sockets == before)
            store.rollback()
        until(lambda: began(program))
        time.sleep(DELAY)
        start = time.monotonic()
        with Poller(program.metadata[0], "web-1") as poller:
            assert poller.ask().status == 200
        assert time.monotonic() - start < AT_ONCE
