"""Modules of the portal that need no browser, tested by Node's own runner."""

from pathlib import Path

import pytest
from tests.programs.installed import needs, run_program

pytestmark = needs("node")

UNITS = sorted((Path(__file__).parent / "units").glob("*.test.js"))


@pytest.mark.parametrize("file", UNITS, ids=lambda file: file.name)
def test_every_unit_does_what_its_tests_say(file: Path, tmp_path: Path) -> None:
    ended = run_program(tmp_path, "node", "--test-reporter=spec", str(file))
    assert ended.code == 0, ended.out + ended.err
