"""Time that a test with its own service takes.

Run by `scripts/bench fixture`. pytest runs the same small test many times, one after
the other: announce, read, approve, advance to the start. No other plugin is loaded. It
also runs an empty test as often, to measure the time of pytest itself.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks.figures import line

_IMPORTS = 10
_BAR = 10.0  # seconds for 200 tests, on two cores

_TEST = """\
import pytest
from forewarn import Client


@pytest.mark.parametrize("number", range({tests}))
def test_a_reboot(scheduled_events, number):
    event = scheduled_events.reboot("web-0")
    with Client() as client:
        client.approve(*client.document().events)
    event.assert_approved(within="30s", by="web-0")
    scheduled_events.advance_to_start(event)
    assert event.status == "Started"
"""

_EMPTY = """\
import pytest


@pytest.mark.parametrize("number", range({tests}))
def test_nothing(number):
    pass
"""

_IMPORT = """\
import pytest
from time import perf_counter
begun = perf_counter()
import forewarn.testing.plugin
print(perf_counter() - begun)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class PytestRun:
    """One run of pytest."""

    seconds: float  # the whole process
    processor: float  # seconds
    summary: str  # last line of pytest's output


def main() -> None:
    """Run the benchmark and print its figures."""
    parser = argparse.ArgumentParser(prog="scripts/bench fixture", description=__doc__)
    parser.add_argument("--tests", type=int, default=200)
    arguments = parser.parse_args()
    sys.stdout.write(line("import of the plugin", _import_time()))
    with tempfile.TemporaryDirectory() as folder:
        empty = _run(Path(folder), _EMPTY.format(tests=arguments.tests))
        full = _run(Path(folder), _TEST.format(tests=arguments.tests))
    sys.stdout.write(line("empty tests", _format(empty, arguments.tests)))
    sys.stdout.write(line("tests with a service", _format(full, arguments.tests)))
    if arguments.tests == 200 and full.seconds > _BAR:
        sys.stdout.write(f"MISSED: more than {_BAR:.0f} s\n")
        sys.exit(1)


def _import_time() -> str:
    seconds = [
        float(subprocess.check_output([sys.executable, "-c", _IMPORT]))
        for _ in range(_IMPORTS)
    ]
    return f"p50 {statistics.median(seconds) * 1000:.1f} ms"


def _run(folder: Path, text: str) -> PytestRun:
    (folder / "test_it.py").write_text(text)
    (folder / "pytest.ini").write_text("[pytest]\n")
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    before, begun = os.times(), time.perf_counter()
    command = [sys.executable, "-m", "pytest", "-q", "-p", "forewarn.testing.plugin"]
    done = subprocess.run(
        command, cwd=folder, env=environment, check=True, capture_output=True, text=True
    )
    seconds, after = time.perf_counter() - begun, os.times()
    busy = after.children_user + after.children_system
    return PytestRun(
        seconds=seconds,
        processor=busy - before.children_user - before.children_system,
        summary=done.stdout.splitlines()[-1],
    )


def _format(run: PytestRun, tests: int) -> str:
    passed = re.match(r"(\d+) passed", run.summary)
    if passed is None or int(passed[1]) != tests:
        raise RuntimeError(f"expected {tests} passed tests: {run.summary}")
    milliseconds = run.seconds / tests * 1000
    return (
        f"{tests} in {run.seconds:.1f} s   {milliseconds:.1f} ms each"
        f"   CPU {run.processor:.1f} s"
    )


if __name__ == "__main__":
    main()
