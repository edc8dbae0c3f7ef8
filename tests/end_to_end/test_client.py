"""The client and its commands against the real program."""

import asyncio
import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import pytest
from tests.end_to_end.program import (
    FOREWARN,
    Program,
    a_reserved_address,
    environment_of,
    run,
    serving,
    until,
)
from tests.patience import PATIENCE

from forewarn import Client
from forewarn.client import Change, aio

PAGE = Path(__file__).parents[2] / "docs" / "how-to" / "use-the-client.md"
SLOWLY = 20.0  # seconds between polls; sooner changes came by long poll

#: One VM for each test of the shared service, so that none sees another's events.
FLEET = "".join(
    f'[[vms]]\nname = "{name}"\n'
    for name in ("off", "awaited", "command", "terminal", "page")
)


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Program]:
    folder = tmp_path_factory.mktemp("client")
    with serving(folder, fleet=FLEET) as program:
        yield program


def endpoint_of(program: Program, vm: str = "web-0") -> str:
    return f"{program.metadata[0]}/vm/{vm}"


@contextmanager
def watching(client: Client) -> Iterator[list[tuple[float, Change]]]:
    """Watch in a thread, and collect each change with its time of arrival."""
    changes: list[tuple[float, Change]] = []

    def watch() -> None:
        for change in client.watch(poll=SLOWLY):
            changes.append((time.monotonic(), change))

    thread = Thread(target=watch)
    thread.start()
    try:
        until(lambda: bool(changes))
        yield changes
    finally:
        client.close()
        thread.join(PATIENCE)
        assert not thread.is_alive()


def test_a_canceled_event_is_reported_as_canceled(program: Program) -> None:
    maintenance = program.service.announce(vms=["off"])
    with watching(Client(endpoint_of(program, "off"))) as changes:
        path = f"/v1/maintenances/{maintenance['id']}/cancel"
        answer = program.service.request("POST", path, {"reason": "no need"})
        assert answer.status == 200, answer.body
        until(lambda: len(changes) == 2)
        assert len(changes[1][1].canceled) == 1


@pytest.mark.full
def test_a_watch_survives_a_restart_of_the_service(tmp_path: Path) -> None:
    with (
        a_reserved_address() as where,
        serving(tmp_path, metadata=[where]) as program,
    ):
        client = Client(endpoint_of(program))
        program.service.announce(vms=["web-0"])
        with watching(client) as changes:
            program.kill()
            with serving(tmp_path, metadata=[where]) as again:
                again.service.announce(vms=["web-1"])
                until(lambda: len(changes) == 2)
                assert len(changes[1][1].events) == 2


def test_the_async_client_receives_changes_immediately(program: Program) -> None:
    async def follow() -> float:
        async with aio.Client(endpoint_of(program, "awaited")) as client:
            began = 0.0
            async for change in client.watch(poll=SLOWLY):
                if change.appeared:
                    break
                began = time.monotonic()
                announce = program.service.announce
                await asyncio.to_thread(announce, vms=["awaited"])
            await client.approve(*change.events)
            assert (await client.instance()).name == "awaited"
            return time.monotonic() - began

    assert asyncio.run(follow()) < SLOWLY


def test_the_program_in_the_docs_approves_upcoming_events(
    program: Program, tmp_path: Path
) -> None:
    text = PAGE.read_text().split("## Watch and approve events in Python")[1]
    script = text.split("```python\n")[1].split("```")[0]
    maintenance = program.service.announce(vms=["page"])
    environment = environment_of(
        tmp_path, FOREWARN_ENDPOINT=endpoint_of(program, "page"), PYTHONUNBUFFERED="1"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script],
        env=environment,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline().startswith("Reboot of page in ")
            event = f"/v1/events/{maintenance['events'][0]['id']}"
            until(lambda: program.service.get(event)["approved_by"] == "page")
        finally:
            process.kill()


# --- commands ----------------------------------------------------------------


def test_the_commands_show_and_approve_upcoming_events(
    program: Program, tmp_path: Path
) -> None:
    program.service.announce(vms=["command"])
    where = {"FOREWARN_ENDPOINT": endpoint_of(program, "command")}
    shown = run(tmp_path, "watch", "--once", "--json", **where)
    (event,) = json.loads(shown.out)["events"]
    approved = run(tmp_path, "approve", event["EventId"].lower(), **where)
    assert approved.code == 0, approved.err
    stored = program.service.get(f"/v1/events/{event['EventId']}")
    assert stored["approved_by"] == "command"


def test_a_watch_on_a_terminal_ends_quietly_with_ctrl_c(
    program: Program, tmp_path: Path
) -> None:
    with subprocess.Popen(
        [*FOREWARN, "watch", "--endpoint", endpoint_of(program, "terminal")],
        env=environment_of(tmp_path),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        assert "no events" in process.stdout.readline()
        program.service.announce(vms=["terminal"])
        assert "appeared" in process.stdout.readline()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out, err) == (130, "", "")
