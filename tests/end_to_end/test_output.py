"""Output streams that are closed, full or unread: the program keeps serving."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from tests.end_to_end.program import DEMO, environment_of, until
from tests.patience import PATIENCE
from tests.server.support.service import send_request

EVENTS = "/metadata/scheduledevents?api-version=2020-07-01"
SERVE = ("serve", "--metadata", "127.0.0.1:0", "--control", "127.0.0.1:0")
COMPLAINING = ("--default-vm", "nobody")  # logs a warning when it starts


@contextmanager
def started_by_a_shell(
    folder: Path, streams: str
) -> Iterator["subprocess.Popen[bytes]"]:
    """Serve with the shell redirections `streams`; other output goes to pipes."""
    words = (sys.executable, "-m", "forewarn", *SERVE, *COMPLAINING)
    with subprocess.Popen(
        ["/bin/sh", "-c", f'exec "$@" {streams}', "sh", *words, "--fleet", str(DEMO)],
        env=environment_of(folder),
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def ports_of(pid: int) -> list[int]:
    """Return the ports that the process `pid` listens on."""
    sockets = set()
    for number in os.listdir(f"/proc/{pid}/fd"):
        with suppress(FileNotFoundError):  # closed meanwhile
            sockets.add(os.readlink(f"/proc/{pid}/fd/{number}"))
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()]
    return [
        int(row[1].rpartition(":")[2], 16)
        for row in rows
        if row[3] == "0A" and f"socket:[{row[9]}]" in sockets
    ]


def check_that_it_serves(process: "subprocess.Popen[bytes]") -> None:
    """Request a VM's document from both planes, and stop the program."""
    until(lambda: len(ports_of(process.pid)) == 2)
    urls = [
        f"http://127.0.0.1:{port}/vm/db-0{EVENTS}" for port in ports_of(process.pid)
    ]
    statuses = [send_request("GET", url, Metadata="true").status for url in urls]
    assert sorted(statuses) == [200, 404]
    process.send_signal(signal.SIGTERM)
    assert process.wait(PATIENCE) == 0


@pytest.mark.parametrize("streams", [">&-", "<&- >&- 2>&-", ">/dev/full 2>&1"])
def test_the_program_serves_with_closed_or_full_streams(
    tmp_path: Path, streams: str
) -> None:
    with started_by_a_shell(tmp_path, streams) as process:
        check_that_it_serves(process)


def test_the_program_serves_after_its_reader_has_left(
    tmp_path: Path,
) -> None:
    with started_by_a_shell(tmp_path, "2>&1") as process:
        assert process.stdout is not None
        assert process.stdout.readline()
        process.stdout.close()
        check_that_it_serves(process)


@pytest.mark.full
def test_the_program_serves_without_any_reader(tmp_path: Path) -> None:
    with started_by_a_shell(tmp_path, "") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stderr.close()
        check_that_it_serves(process)


def test_addresses_that_cannot_be_printed_are_logged(tmp_path: Path) -> None:
    with started_by_a_shell(tmp_path, ">/dev/full") as process:
        assert process.stderr is not None
        warning = process.stderr.readline()
        if b"nobody" in warning:
            warning = process.stderr.readline()
        assert b"http://127.0.0.1:" in warning
        assert b"No space left" in warning
