"""Repeated starts, stops and kills: the program leaves no files behind."""

from pathlib import Path

import pytest
from tests.end_to_end.program import serving
from tests.lanes import size


@pytest.mark.timeout(600)
def test_starts_leave_only_a_store_its_lock_and_a_token(tmp_path: Path) -> None:
    for number in range(size(4, 20)):
        with serving(tmp_path, FOREWARN_TOKEN=None) as program:
            program.service.announce(vms=["web-0"])
            if number % 2:
                assert program.stop()[0] == 0
            else:
                program.kill()
    left = {file.name for file in (tmp_path / "state").iterdir()}
    assert left == {"forewarn.db", "forewarn.db-lock", "token"}
    assert {file.name for file in tmp_path.iterdir()} == {"state", "stderr"}
