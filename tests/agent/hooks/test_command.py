"""Hook commands that cannot be run, and scripts without an interpreter line."""

import os
from pathlib import Path

import pytest
from tests.agent.support.hook_builders import ran

from forewarn.agent.config.plan import Hook
from forewarn.agent.events.state import HookOutcome
from forewarn.agent.hooks.runner import HookResult


def ran_command(*command: str | Path) -> HookResult:
    return ran(Hook(name="drain", command=tuple(map(str, command))))


def failure_reason(*command: str | Path) -> str:
    """Run a command that cannot be run and return the reason."""
    ended = ran_command(*command)
    assert (ended.outcome, ended.code, ended.tries) == (HookOutcome.FAILED, None, 1)
    return ended.reason


def write(path: Path, content: str | bytes, mode: int = 0o755) -> Path:
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    path.chmod(mode)
    return path


def test_a_missing_command_is_named() -> None:
    assert failure_reason("/does/not/exist") == "/does/not/exist does not exist"


def test_a_command_not_in_path_is_named() -> None:
    assert failure_reason("no-such-command") == "no-such-command does not exist"


def test_a_command_below_a_file_does_not_exist(tmp_path: Path) -> None:
    below = write(tmp_path / "file", "") / "command"
    assert failure_reason(below) == f"{below} does not exist"


def test_a_directory_is_not_a_command(tmp_path: Path) -> None:
    assert failure_reason(tmp_path) == f"{tmp_path} is a directory"


def test_a_file_that_is_not_executable_is_named(tmp_path: Path) -> None:
    script = write(tmp_path / "script", "#!/bin/sh\n", mode=0o644)
    assert failure_reason(script) == f"{script} is not executable"


def test_a_missing_interpreter_differs_from_a_missing_command(
    tmp_path: Path,
) -> None:
    script = write(tmp_path / "script", "#!/no/such/interpreter\n")
    assert (
        failure_reason(script) == f"{script} wants an interpreter that does not exist"
    )


def test_a_program_for_another_machine_is_refused(tmp_path: Path) -> None:
    program = write(tmp_path / "program", b"\x7fELF\0\0\0\0")
    assert failure_reason(program) == f"{program} is no program for this machine"


def test_arguments_that_are_too_long_are_reported() -> None:
    expected = "/bin/true cannot be run: its arguments and its environment are too long"
    assert failure_reason("/bin/true", "x" * 200_000) == expected


def test_a_null_byte_in_a_command_is_reported() -> None:
    assert (
        failure_reason("/bin/true", "a\0b")
        == "/bin/true cannot be run: embedded null byte"
    )


def test_a_hook_without_a_command_is_reported() -> None:
    assert failure_reason() == "it has no command"
    assert failure_reason("") == "it has no command"


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
