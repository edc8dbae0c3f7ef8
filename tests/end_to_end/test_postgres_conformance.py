"""The conformance suite, run against a program that uses PostgreSQL."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
from tests.end_to_end.program import serving
from tests.postgres import PostgresServer

ROOT = Path(__file__).parents[2]
SUITE = Path("tests/conformance")
LONG = 1800  # seconds; the suite takes one minute on an idle machine


@pytest.mark.timeout(LONG + 60)
def test_lifecycle_and_incarnations_conform_on_postgresql(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    files = (SUITE / "test_lifecycle.py", SUITE / "test_incarnation.py")
    assert passed(tmp_path, postgres, *files) >= 40


@pytest.mark.full
@pytest.mark.timeout(LONG + 60)
def test_the_whole_suite_passes_on_postgresql(
    tmp_path: Path, postgres: PostgresServer
) -> None:
    assert passed(tmp_path, postgres, SUITE) > 600


def passed(folder: Path, postgres: PostgresServer, *paths: Path) -> int:
    """Run tests of the suite, and return how many passed."""
    url = postgres.url(schema=postgres.new_schema())
    with serving(folder, "--clock", "manual", "--store", url) as program:
        service = program.service
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        command += [*map(str, paths), "--endpoint", f"{service.metadata}/vm/web-0"]
        command += ["--control", service.control, "--token", service.token]
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=LONG, check=False
        )
    assert done.returncode == 0, done.stdout[-3000:]
    summary = re.search(r"(\d+) passed", done.stdout)
    assert summary is not None, done.stdout[-300:]
    return int(summary[1])
