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
    assert command_problem(["no-such-command"]) == "no-such-command not found in $PATH"


def test_directory_is_refused(tmp_path: Path) -> None:
    assert command_problem([str(tmp_path)]) == f"{tmp_path} is a directory"


def test_file_that_is_not_executable_suggests_chmod(tmp_path: Path) -> None:
    path = write_script(tmp_path / "script", "exit 0")
    path.chmod(0o644)
    assert "chmod +x" in (command_problem([str(path)]) or "")


@pytest.mark.parametrize(
    ("first", "reason"),
    [
        ("#!/no/such/sh -e\n", "requires the interpreter /no/such/sh, which does not"),
        ("#! /no/such/sh\n", "requires the interpreter /no/such/sh, which does not"),
        (
            "#!/usr/bin/env no-such-python\n",
            "requires the interpreter no-such-python, ",
        ),
        ("#!/bin/sh\r\n", "has Windows line endings"),
    ],
)
def test_a_script_with_a_missing_interpreter_is_refused(
    tmp_path: Path, first: str, reason: str
) -> None:
    path = write_script(tmp_path / "script", first)
    assert str(command_problem([str(path)])).startswith(f"{path} {reason}")


@pytest.mark.parametrize(
    "first",
    ["#!/usr/bin/env sh\n", "#!/usr/bin/env -S sh -e\n", "#!/bin/sh", "#!\n", "x\n"],
)
def test_other_first_lines_are_accepted(tmp_path: Path, first: str) -> None:
    path = write_script(tmp_path / "script", first)
    assert command_problem([str(path)]) is None


def test_the_command_after_env_is_checked(tmp_path: Path) -> None:
    missing = str(tmp_path / "drain")
    problem = command_problem(["env", "A=1", "B=/x", missing])
    assert problem == f"{missing} does not exist"
    assert command_problem(["/usr/bin/env", "A=1", "sh", "-c", "true"]) is None
    assert command_problem(["env", "-i", missing]) is None
    assert command_problem(["env", "A=1"]) is None


@pytest.mark.parametrize("command", [[], [""], ["sh\0"], ["sh", "a\0b"]])
def test_empty_command_and_null_bytes_are_refused(command: list[str]) -> None:
    assert command_problem(command)


def test_service_does_not_start_with_a_command_that_cannot_be_run(
    tmp_path: Path,
) -> None:
    with pytest.raises(CannotStart, match="does not exist"):
        ScriptDriver([str(tmp_path / "script")]).open()
