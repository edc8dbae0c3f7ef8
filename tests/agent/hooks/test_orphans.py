"""Orphaned hook processes of a killed agent, and nothing else, are ended."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from secrets import token_hex
from subprocess import Popen

import pytest
from tests.agent.support.hook_builders import LONG, ON_AND_ON, ReadyPipe, is_gone

from forewarn.agent.hooks import orphans

Start = Callable[..., "Popen[bytes]"]


@pytest.fixture
def token() -> str:
    """Return a unique token: the tests may run twice on one machine."""
    return f"run-{token_hex(8)}"


@pytest.fixture
def start(ready_pipe: ReadyPipe) -> Iterator[Start]:
    """Return a function that starts a shell with a token; end it after the test."""
    begun: list[Popen[bytes]] = []

    def start(token: str, text: str = ON_AND_ON) -> "Popen[bytes]":
        process = Popen(
            ["/bin/sh", "-c", f"{text.replace('UP', f'echo $$ > {ready_pipe.path}')}"],
            env={**os.environ, "FOREWARN_RUN": token},
            start_new_session=True,
        )
        begun.append(process)
        return process

    yield start
    for shell in begun:
        with suppress(ProcessLookupError):
            os.killpg(shell.pid, signal.SIGKILL)
        shell.wait()


def test_a_process_with_the_token_is_terminated_and_no_file_stays_open(
    start: Start, ready_pipe: ReadyPipe, token: str
) -> None:
    before = sorted(os.listdir("/proc/self/fd"))
    process = start(token, "UP; exec sleep 600")
    ready_pipe.read()
    assert orphans.end_orphans(token, kill_after=LONG) == 1
    assert process.wait(LONG) == -signal.SIGTERM
    assert sorted(os.listdir("/proc/self/fd")) == before


def test_a_process_that_ignores_term_is_killed(
    start: Start, ready_pipe: ReadyPipe, token: str
) -> None:
    process = start(token, f"trap '' TERM; UP; {ON_AND_ON}")
    ready_pipe.read()
    assert orphans.end_orphans(token, kill_after=0.05) >= 1
    assert process.wait(LONG) == -signal.SIGKILL


def test_its_child_processes_are_ended_in_any_session(
    start: Start, ready_pipe: ReadyPipe, token: str
) -> None:
    start(token, "setsid sh -c 'UP; exec sleep 600' & wait")
    pid = int(ready_pipe.read())
    assert orphans.end_orphans(token, kill_after=LONG) == 2
    assert is_gone(pid)


@pytest.mark.parametrize("other", ["{}2", "x{}", "x {}", "FOREWARN_RUN={}", ""])
def test_a_process_with_another_token_keeps_running(
    start: Start, ready_pipe: ReadyPipe, token: str, other: str
) -> None:
    process = start(other.format(token), "UP; exec sleep 600")
    ready_pipe.read()
    assert orphans.end_orphans(token, kill_after=LONG) == 0
    assert process.poll() is None


def test_an_empty_token_matches_nothing(start: Start, ready_pipe: ReadyPipe) -> None:
    process = start("", "UP; exec sleep 600")
    ready_pipe.read()
    assert orphans.end_orphans("", kill_after=LONG) == 0
    assert process.poll() is None


def test_it_never_ends_its_own_process(start: Start, token: str) -> None:
    """Run a program that has the token itself and looks for it."""
    program = (
        "from forewarn.agent.hooks.orphans import end_orphans;"
        f"raise SystemExit(end_orphans('{token}', kill_after=1) + 40)"
    )
    process = start(token, f'exec {sys.executable} -c "{program}"')
    assert process.wait(LONG) == 40
