"""Repeated starts and stops of the complete service in one process."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.lanes import size

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(360)
def test_starts_leave_nothing_behind() -> None:
    starts = str(size(10, 100))
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.starts", "--starts", starts],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
