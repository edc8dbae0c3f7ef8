"""What a killed agent has left of a hook is ended, and nothing else."""

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from subprocess import Popen

import pytest
from tests.agent.hook_builders import LONG, ON_AND_ON, Word, is_gone

from forewarn.agent import leftovers

Start = Callable[..., "Popen[bytes]"]


@pytest.fixture
def token() -> str:
    """Nobody else's, as these tests may be run twice on one machine."""
    return f"run-{token_hex(8)}"


@pytest.fixture
def word(tmp_path: Path) -> Iterator[Word]:
    made = Word(tmp_path)
    yield made
    made.close()


@pytest.fixture
def start(word: Word) -> Iterator[Start]:
    """Start a shell with a token that says when it is up; end it after the test."""
    begun: list[Popen[bytes]] = []

    def start(token: str, text: str = ON_AND_ON) -> "Popen[bytes]":
        process = Popen(
            ["/bin/sh", "-c", f"{text.replace('UP', f'echo $$ > {word.path}')}"],
            env={**os.environ, "FOREWARN_RUN": token},
            start_new_session=True,
        )
        begun.append(process)
        return process

    yield start
    for each in begun:
        with suppress(ProcessLookupError):
            os.killpg(each.pid, signal.SIGKILL)
        each.wait()


def test_what_has_the_token_is_told_to_end(
    start: Start, word: Word, token: str
) -> None:
    process = start(token, "UP; exec sleep 20")
    word.hear()
    assert leftovers.end(token, kill_after=LONG) == 1
    assert process.wait(LONG) == -signal.SIGTERM


def test_what_ignores_that_is_killed(start: Start, word: Word, token: str) -> None:
    process = start(token, f"trap '' TERM; UP; {ON_AND_ON}")
    word.hear()
    assert leftovers.end(token, kill_after=0.05) >= 1
    assert process.wait(LONG) == -signal.SIGKILL


def test_what_it_has_started_is_ended_too_in_whatever_session(
    start: Start, word: Word, token: str
) -> None:
    start(token, "setsid sh -c 'UP; exec sleep 20' & wait")
    pid = int(word.hear())
    assert leftovers.end(token, kill_after=LONG) == 2
    assert is_gone(pid)


@pytest.mark.parametrize("other", ["{}2", "x{}", "x {}", "FOREWARN_RUN={}", ""])
def test_what_has_another_token_lives_on(
    start: Start, word: Word, token: str, other: str
) -> None:
    process = start(other.format(token), "UP; exec sleep 20")
    word.hear()
    assert leftovers.end(token, kill_after=LONG) == 0
    assert process.poll() is None


def test_no_token_is_nobodys(start: Start, word: Word) -> None:
    process = start("", "UP; exec sleep 20")
    word.hear()
    assert leftovers.end("", kill_after=LONG) == 0
    assert process.poll() is None


def test_when_nothing_is_left_nothing_is_waited_for() -> None:
    assert leftovers.end("nobody-has-this", kill_after=LONG) == 0


def test_it_is_never_the_one_that_asks(start: Start, token: str) -> None:
    """A program that has the token itself looks for it, and lives to say so."""
    program = (
        "from forewarn.agent import leftovers;"
        f"raise SystemExit(leftovers.end('{token}', kill_after=1) + 40)"
    )
    process = start(token, f'exec {sys.executable} -c "{program}"')
    assert process.wait(LONG) == 40


def test_no_file_stays_open(start: Start, word: Word, token: str) -> None:
    before = sorted(os.listdir("/proc/self/fd"))
    process = start(token, "UP; exec sleep 20")
    word.hear()
    leftovers.end(token, kill_after=LONG)
    process.wait()
    assert sorted(os.listdir("/proc/self/fd")) == before
