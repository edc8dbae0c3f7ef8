"""Helpers that read an agent configuration file."""

from pathlib import Path

import pytest

from forewarn.agent.config.file import read_plan
from forewarn.agent.config.plan import Plan
from forewarn.errors import CannotStart

RULE = '[[rules]]\nname = "r"\napprove = "never"\n'
HOOK = '[hooks.drain]\ncommand = ["drain"]\n'
USED = f'{HOOK}{RULE}prepare = ["drain"]\n'


def read(file: Path, text: str) -> Plan:
    file.write_text(text)
    return read_plan(file)


def errors_in(file: Path, text: str) -> list[str]:
    """Return the errors of a faulty file, without the file name each starts with."""
    with pytest.raises(CannotStart) as caught:
        read(file, text)
    lines = str(caught.value).splitlines()
    assert all(line.startswith(f"{file}, ") for line in lines)
    return [line.removeprefix(f"{file}, ") for line in lines]


def warnings(file: Path, text: str) -> list[str]:
    return [warning.removeprefix(f"{file}, ") for warning in read(file, text).warnings]
