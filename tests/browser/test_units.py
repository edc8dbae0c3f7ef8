"""Unit tests of portal modules that need no browser, run by Node."""

from pathlib import Path

import pytest
from tests.programs.installed import needs, run_program

pytestmark = needs("node")

UNITS = sorted((Path(__file__).parent / "units").glob("*.test.js"))


@pytest.mark.parametrize("file", UNITS, ids=lambda file: file.name)
def test_the_unit_tests_of_a_portal_module_pass(file: Path, tmp_path: Path) -> None:
    ended = run_program(tmp_path, "node", "--test-reporter=spec", str(file))
    assert ended.code == 0, ended.out + ended.err
