"""Hook commands that cannot be run, and scripts without an interpreter line."""

import os
from pathlib import Path

import pytest
from tests.agent.support.hook_builders import ran

from forewarn.agent.config.plan import Hook
from forewarn.agent.events.state import HookOutcome, HookRun


def ran_command(*command: str | Path) -> HookRun:
    return ran(Hook(name="drain", command=tuple(map(str, command))))


def failure_reason(*command: str | Path) -> str:
    """Run a command that cannot be run and return the reason."""
    ended = ran_command(*command)
    assert (ended.outcome, ended.code, ended.tries) == (HookOutcome.FAILED, None, 1)
    return ended.reason


def write(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    path.chmod(0o755)
    return path


def test_a_command_that_cannot_be_run_is_explained() -> None:
    assert failure_reason("/does/not/exist") == "/does/not/exist does not exist"


def test_a_program_for_another_machine_is_refused(tmp_path: Path) -> None:
    program = write(tmp_path / "program", b"\x7fELF\0\0\0\0")
    assert failure_reason(program) == f"{program} is not a program for this machine"


def test_arguments_that_are_too_long_are_reported() -> None:
    why = "could not be started: its arguments and environment are too long"
    expected = f"/bin/true {why}"
    assert failure_reason("/bin/true", "x" * 200_000) == expected


def test_a_hook_without_a_command_is_reported() -> None:
    assert failure_reason() == "the command is empty"
    assert failure_reason("") == "the command is empty"


def test_a_command_that_cannot_be_run_is_retried(tmp_path: Path) -> None:
    hook = Hook(name="x", command=("/does/not/exist",), tries=3, retry_after=0)
    assert ran(hook).tries == 3


def test_a_script_without_an_interpreter_is_run_by_the_shell(tmp_path: Path) -> None:
    script = write(tmp_path / "script", 'echo "$0" "$@"; exit 3')
    ended = ran_command(script, "two words")
    assert (ended.output, ended.code) == (f"{script} two words\n", 3)


def test_a_script_without_an_interpreter_is_found_in_path(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "prepare-it", "echo found")
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert ran_command("prepare-it").output == "found\n"
