"""Short reasons why a command cannot be run."""

from pathlib import Path

import pytest
from tests.drivers.scripts import write_script

from forewarn.drivers.script import ScriptDriver
from forewarn.errors import CannotStart
from forewarn.processes import command_problem


def test_runnable_command_is_accepted(tmp_path: Path) -> None:
    assert (
        command_problem([str(write_script(tmp_path / "script", "exit 0")), "-x"])
        is None
    )
    assert command_problem(["/bin/sh", "-c", "exit 0"]) is None
    assert command_problem(["sh"]) is None


def test_file_that_is_executable_but_not_readable_can_be_run(tmp_path: Path) -> None:
    path = write_script(tmp_path / "script", "exit 0")
    path.chmod(0o111)
    assert command_problem([str(path)]) is None


def test_missing_command_is_named(tmp_path: Path) -> None:
    path = str(tmp_path / "script")
    assert command_problem([path]) == f"{path} does not exist"
    assert command_problem(["no-such-command"]) == "no-such-command is not in $PATH"


def test_directory_is_refused(tmp_path: Path) -> None:
    assert command_problem([str(tmp_path)]) == f"{tmp_path} is a directory"


def test_file_that_is_not_executable_suggests_chmod(tmp_path: Path) -> None:
    path = write_script(tmp_path / "script", "exit 0")
    path.chmod(0o644)
    assert "chmod +x" in (command_problem([str(path)]) or "")


@pytest.mark.parametrize(
    ("first", "interpreter"),
    [
        ("#!/no/such/sh", "/no/such/sh"),
        ("#! /no/sh -e", "/no/sh"),
        ("#!/bin/sh\r", "r"),
    ],
)
def test_a_missing_interpreter_is_named(
    tmp_path: Path, first: str, interpreter: str
) -> None:
    path = write_script(tmp_path / "script", f"{first}\nexit 0\n")
    reason = command_problem([str(path)])
    assert reason is not None
    assert interpreter in reason
    assert "interpreter" in reason


@pytest.mark.parametrize("command", [[], [""], ["sh\0"], ["sh", "a\0b"]])
def test_empty_command_and_null_bytes_are_refused(command: list[str]) -> None:
    assert command_problem(command)


def test_service_does_not_start_with_a_command_that_cannot_be_run(
    tmp_path: Path,
) -> None:
    with pytest.raises(CannotStart, match="does not exist"):
        ScriptDriver([str(tmp_path / "script")]).open()
