"""Scripts with many VMs and many processes."""

import os
import resource
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.drivers.scripts import LONG, MakeDriver, a_work, is_alive, reports

from forewarn.ports import Report

MANY = [f"vm-{number:04}" for number in range(600)]

#: Writes long reports on all VMs, more than two pipes hold.
AT_LENGTH = """#!/usr/bin/env python3
import json, os, sys, time
for vm in json.load(sys.stdin)["vms"]:
    text = json.dumps({"vm": vm["name"], "status": "done", "detail": "x" * 900})
    print(text, flush=True)
"""


def write_pids(pipe: Path) -> str:
    """Return lines that make a script wait for a reader, and write it two process ids.

    They are those of the script and of its supervisor.
    """
    return (
        f'with open("{pipe}", "w") as file:\n'
        '    file.write(f"{os.getpid()} {os.getppid()}")\n'
    )


@pytest.fixture
def few_files() -> Iterator[int]:
    """Limit the number of open files for processes started here."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, hard))
    try:
        yield 64
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_more_processes_than_can_be_watched_are_ended(
    run: MakeDriver, tmp_path: Path, few_files: int
) -> None:
    text = f"""for each in $(seq {2 * few_files}); do
        sleep 600 & echo $! >>{tmp_path}/pids
    done"""
    results = reports(run(text).carry_out(a_work("web-0")))
    assert results == [Report(vm="web-0")]
    left = [int(pid) for pid in (tmp_path / "pids").read_text().split()]
    assert len(left) == 2 * few_files
    assert not [pid for pid in left if is_alive(pid)]


def test_supervisor_killed_in_the_middle_of_a_report_leaves_nothing_behind(
    run: MakeDriver, pipe: Path
) -> None:
    text = f"{AT_LENGTH}{write_pids(pipe)}time.sleep({LONG})\n"
    results = run(text).carry_out(a_work(*MANY))
    first = next(results)
    pid, supervisor = map(int, pipe.read_text().split())
    os.kill(supervisor, signal.SIGKILL)  # it has more to send than the pipe holds
    rest = reports([first, *results])
    assert {report.vm for report in rest} == {*MANY}
    assert rest[-1].detail == "its supervisor was killed"
    assert not is_alive(pid)


def test_reports_that_arrive_together_are_passed_on_together(
    run: MakeDriver, pipe: Path
) -> None:
    results = run(AT_LENGTH + write_pids(pipe)).carry_out(a_work(*MANY))
    first = next(results)
    pipe.read_text()  # by now the script has written everything
    rest = [*results]
    assert len(reports([first, *rest])) == len(MANY)
    assert len(rest) < len(MANY) / 4
