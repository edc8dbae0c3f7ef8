"""Delay of the first request of a disabled group, in the real program."""

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

#: Both groups are disabled until their first poll.
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
def serving_with_delay(
    folder: Path, delay: str, *, clock: str = "manual"
) -> Iterator[Program]:
    """Serve the fleet with a first request that takes `delay` seconds."""
    fleet = folder / "fleet.toml"
    fleet.write_text(FLEET)
    with serving(
        folder, "--clock", clock, fleet=fleet, FOREWARN_FIRST_CALL_DELAY=delay
    ) as program:
        yield program


def is_enabled(program: Program) -> bool:
    """Return whether exactly one group has been enabled."""
    return len(program.service.facts("ListeningBegan")) == 1


@pytest.mark.full
def test_responses_are_delayed_while_a_group_is_enabled_and_immediate_afterwards(
    tmp_path: Path,
) -> None:
    with (
        serving_with_delay(tmp_path, str(DELAY)) as program,
        Poller(program.metadata[0]) as first,
        Poller(program.metadata[0], "web-1") as second,
    ):
        start = time.monotonic()
        first.socket.sendall(GET)
        until(lambda: is_enabled(program))
        second.socket.sendall(GET)
        program.service.announce(vms=["web-1"])
        response = first.answer()
        late = time.monotonic() - start
        assert second.answer().status == 200
        assert DELAY <= late <= time.monotonic() - start < late + AT_ONCE
        assert json.loads(response.body)["DocumentIncarnation"] == 1
        start = time.monotonic()
        assert first.request().status == 200
        assert second.request().status == 200
        assert time.monotonic() - start < AT_ONCE
        assert is_enabled(program)


@pytest.mark.full
def test_an_approval_is_carried_out_even_if_its_client_disconnects(
    tmp_path: Path,
) -> None:
    with serving_with_delay(tmp_path, NEVER) as program:
        before = program.sockets
        maintenance = program.service.announce(vms=["web-0"])
        event = maintenance["events"][0]["id"]
        body = json.dumps({"StartRequests": [{"EventId": event}]}).encode()
        with Poller(program.metadata[0]) as poller:
            post = a_post(body, "Metadata: true", target=events_of("web-0"))
            poller.socket.sendall(post)
            until(lambda: len(program.service.facts("Approved")) == 1)
            assert not poller.is_answered()
        until(lambda: program.sockets == before)
        stored = program.service.get(f"/v1/events/{event}")
        assert stored["approved_by"] == "web-0"


def test_delayed_first_requests_do_not_block_a_stop(tmp_path: Path) -> None:
    with (
        serving_with_delay(tmp_path, NEVER) as program,
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
            response = poller.answer()
            assert (response.status, response.header(b"connection")) == (200, b"close")
        assert program.log == ""


@pytest.mark.full
def test_a_first_request_gets_a_response_even_if_the_clock_advances_a_day(
    tmp_path: Path,
) -> None:
    with (
        serving_with_delay(tmp_path, str(DELAY), clock="x99999") as program,
        Poller(program.metadata[0]) as poller,
    ):
        start = time.monotonic()
        assert poller.request().status == 200
        assert time.monotonic() - start >= DELAY
        assert is_enabled(program)


@pytest.mark.full
def test_a_group_is_enabled_even_if_its_first_client_disconnects(
    tmp_path: Path,
) -> None:
    with serving_with_delay(tmp_path, str(DELAY)) as program:
        before = program.sockets
        with closing(sqlite3.connect(tmp_path / "state" / "forewarn.db")) as store:
            store.execute("BEGIN IMMEDIATE")  # so that the group cannot be enabled yet
            with Poller(program.metadata[0]) as poller:
                poller.socket.sendall(GET)
                until(lambda: program.sockets > before)
                poller.reset()
            until(lambda: program.sockets == before)
            store.rollback()
        until(lambda: is_enabled(program))
        time.sleep(DELAY)
        start = time.monotonic()
        with Poller(program.metadata[0], "web-1") as poller:
            assert poller.request().status == 200
        assert time.monotonic() - start < AT_ONCE
