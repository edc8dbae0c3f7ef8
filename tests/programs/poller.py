"""A poller in a process of its own, led through a whole story.

A poller tells each new status in a line (`none` without an event), approves what is
scheduled, and ends when that is gone.
"""

import os
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from queue import Queue
from threading import Thread

from tests.end_to_end.program import Program
from tests.programs.record import approval, witnesses

_PATIENCE = 10.0  # seconds for a line; it takes a moment


def lead(
    program: Program, vm: str, command: Sequence[str], folder: Path, **environment: str
) -> None:
    """Let the poller of `vm` live through announcement, approval, start and end."""
    service = program.service
    with _lines(command, folder, environment) as lines:
        _expect(lines, "none")
        event = service.announce(type="Reboot", vms=[vm])["events"][0]["id"]
        _expect(lines, "Scheduled")
        _expect(lines, "Started")
        service.advance(5)
        _expect(lines, "none")
        _expect(lines, "ended with 0")
    facts = service.facts()
    assert approval(facts, event) == (vm, "metadata")
    assert witnesses(facts, event) == [vm]


def _expect(lines: "Queue[str]", line: str) -> None:
    told = lines.get(timeout=_PATIENCE)
    assert told == line, f"{told} instead of {line}"


@contextmanager
def _lines(
    command: Sequence[str], folder: Path, environment: dict[str, str]
) -> Iterator["Queue[str]"]:
    """Run `command`; read its lines as they come, and at last how it ended."""
    given = {"PATH": os.environ["PATH"], "HOME": str(folder), **environment}
    lines: Queue[str] = Queue()
    with subprocess.Popen(
        command,
        cwd=folder,
        env=given,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        reader = Thread(target=_read, args=(process, lines))
        reader.start()
        try:
            yield lines
        finally:
            process.kill()
            reader.join()


def _read(process: "subprocess.Popen[str]", lines: "Queue[str]") -> None:
    assert process.stdout is not None
    for line in process.stdout:
        lines.put(line.rstrip("\n"))
    lines.put(f"ended with {process.wait()}")
