"""The whole service, started and stopped again and again in one process."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.timeout(360)
def test_a_hundred_starts_leave_nothing_behind() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.starts", "--starts", "100"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
