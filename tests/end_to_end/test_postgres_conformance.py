"""The conformance suite, aimed at a program that keeps its state in PostgreSQL."""

import subprocess
import sys
from pathlib import Path

import pytest
from tests.end_to_end.program import serving
from tests.postgres import Server

ROOT = Path(__file__).parents[2]
LONG = 600  # seconds; it takes one minute where nothing else runs


@pytest.mark.timeout(LONG + 60)
def test_every_fact_of_the_wire_holds_on_postgresql(
    tmp_path: Path, postgres: Server
) -> None:
    url = postgres.url(schema=postgres.new_schema())
    with serving(tmp_path, "--clock", "manual", "--store", url) as program:
        service = program.service
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]
        command += ["tests/conformance", "--endpoint", f"{service.metadata}/vm/web-0"]
        command += ["--control", service.control, "--token", service.token]
        done = subprocess.run(
            command, cwd=ROOT, capture_output=True, text=True, timeout=LONG, check=False
        )
    assert done.returncode == 0, done.stdout[-3000:]
    passed, _, _ = done.stdout.rpartition("\n")[0].rpartition(" passed")
    assert int(passed.rpartition("\n")[2].split()[-1]) > 600, done.stdout[-300:]
