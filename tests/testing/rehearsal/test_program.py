"""Program under test: start, output, exit code, and child processes."""

import os
import signal
import sys
from collections import UserDict
from collections.abc import KeysView
from pathlib import Path
from select import select
from threading import Event as Bell
from typing import Any

import pytest
from tests.end_to_end.program import until
from tests.patience import PATIENCE

from forewarn.errors import CannotStart
from forewarn.testing.rehearsal.program import Program

PYTHON = [sys.executable, "-S", "-E", "-c"]


def test_exit_code_is_known_after_the_end() -> None:
    ended = Bell()
    with Program([*PYTHON, "raise SystemExit(3)"], {}, on_end=ended.set) as program:
        assert ended.wait(PATIENCE)
        assert not program.is_running
        assert program.code == 3
        assert program.ended is not None


def test_program_gets_its_environment() -> None:
    ended = Bell()
    code = "import os; print(os.environ['FOREWARN_ENDPOINT'])"
    environment = {"FOREWARN_ENDPOINT": "http://here"}
    with Program([*PYTHON, code], environment, on_end=ended.set) as program:
        assert ended.wait(PATIENCE)
    assert program.written == "http://here"


def test_running_program_is_ended_by_a_signal() -> None:
    with Program(["sleep", "600"], {}) as program:
        assert program.is_running
        assert program.code is None
    assert program.code == -15


def test_children_of_a_program_end_with_it(tmp_path: Path) -> None:
    ended, note = Bell(), tmp_path / "pid"
    script = f"trap '' TERM; sleep 600 & echo $! > {note}"
    with Program(["sh", "-c", script], {}, on_end=ended.set):
        assert ended.wait(PATIENCE)
        child = os.pidfd_open(int(note.read_text()))
        assert not select([child], [], [], 0)[0]  # still running
    assert select([child], [], [], PATIENCE)[0]
    os.close(child)


def test_program_that_ignores_term_is_killed() -> None:
    ready, code = Bell(), "import signal, time; signal.signal(15, signal.SIG_IGN)"
    wait = "; print('on', flush=True); time.sleep(600)"
    program = Program([*PYTHON, code + wait], {}, on_end=ready.set, grace=0.05)
    with program:
        until(lambda: "on" in program.written)
    assert program.code == -signal.SIGKILL


def test_output_of_a_program_can_be_written_to_a_file(tmp_path: Path) -> None:
    ended, name = Bell(), tmp_path / "log"
    code = "import sys; print('out'); print('err', file=sys.stderr)"
    with Program([*PYTHON, code], {}, output=str(name), on_end=ended.set) as program:
        assert ended.wait(PATIENCE)
    assert sorted(name.read_text().split()) == ["err", "out"]
    assert program.written


def test_missing_program_is_an_error_message() -> None:
    with (
        pytest.raises(CannotStart, match="cannot start no-such-thing: No such"),
        Program(["no-such-thing"], {}),
    ):
        pass


def test_unwritable_output_is_an_error_message(tmp_path: Path) -> None:
    name = str(tmp_path / "not" / "there")
    with (
        pytest.raises(CannotStart, match=r"cannot write .*there"),
        Program(["true"], {}, output=name),
    ):
        pass


@pytest.mark.parametrize("command", [(), (["sleep", "5"],), ("sleep", 5)])
def test_invalid_command_is_an_error_message(command: Any) -> None:
    with (
        pytest.raises(CannotStart, match="pass each part of a command as a string"),
        Program(command, {}),
    ):
        pass


def test_output_can_be_read_while_the_program_starts() -> None:
    class Reads(UserDict[str, str]):
        """Reads the output when the program's environment is about to be built."""

        def keys(self) -> KeysView[str]:
            program.read_output()  # would block forever
            return super().keys()

    program = Program(["true"], Reads())
    with program:
        assert program.written == ""
