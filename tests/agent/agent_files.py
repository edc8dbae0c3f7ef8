"""An agent's file, read in a test."""

from pathlib import Path

import pytest

from forewarn.agent import config
from forewarn.agent.plan import (
    Plan,
)
from forewarn.errors import CannotStart

RULE = '[[rules]]\nname = "r"\napprove = "never"\n'
HOOK = '[hooks.drain]\ncommand = ["drain"]\n'
USED = f'{HOOK}{RULE}prepare = ["drain"]\n'


def read(file: Path, text: str) -> Plan:
    file.write_text(text)
    return config.read(file)


def complaints(file: Path, text: str) -> list[str]:
    """What is wrong, without the name of the file, which each begins with."""
    with pytest.raises(CannotStart) as caught:
        read(file, text)
    said = str(caught.value).splitlines()
    assert all(each.startswith(f"{file}, ") for each in said)
    return [each.removeprefix(f"{file}, ") for each in said]


def warnings(file: Path, text: str) -> list[str]:
    return [each.removeprefix(f"{file}, ") for each in read(file, text).warnings]
