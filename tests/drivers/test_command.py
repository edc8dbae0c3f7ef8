"""Why a command cannot be run, in a few words."""

from pathlib import Path

import pytest
from tests.drivers.scripts import write_script

from forewarn.drivers.command import trouble
from forewarn.drivers.script import ScriptDriver
from forewarn.errors import CannotStart


def test_what_can_be_run_is_no_trouble(tmp_path: Path) -> None:
    assert trouble([str(write_script(tmp_path / "script", "exit 0")), "-x"]) is None
    assert trouble(["/bin/sh", "-c", "exit 0"]) is None
    assert trouble(["sh"]) is None


def test_a_file_that_only_its_owner_reads_can_be_run(tmp_path: Path) -> None:
    path = write_script(tmp_path / "script", "exit 0")
    path.chmod(0o111)
    assert trouble([str(path)]) is None


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    path = str(tmp_path / "script")
    assert trouble([path]) == f"{path} does not exist"
    assert trouble(["no-such-command"]) == "no-such-command is not in $PATH"


def test_a_directory_is_no_command(tmp_path: Path) -> None:
    assert trouble([str(tmp_path)]) == f"{tmp_path} is a directory"


def test_what_is_not_executable_can_be_made_so(tmp_path: Path) -> None:
    path = write_script(tmp_path / "script", "exit 0")
    path.chmod(0o644)
    assert "chmod +x" in (trouble([str(path)]) or "")


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
    found = trouble([str(path)])
    assert found is not None
    assert interpreter in found
    assert "interpreter" in found


@pytest.mark.parametrize("command", [[], [""], ["sh\0"], ["sh", "a\0b"]])
def test_what_is_no_command_at_all_is_refused(command: list[str]) -> None:
    assert trouble(command)


def test_a_service_does_not_start_with_a_command_that_cannot_be_run(
    tmp_path: Path,
) -> None:
    with pytest.raises(CannotStart, match="does not exist"):
        ScriptDriver([str(tmp_path / "script")]).open()
