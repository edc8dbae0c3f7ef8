"""A program in its own process whose output is read line by line."""

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from threading import Thread

from tests.patience import PATIENCE

_PATIENCE = PATIENCE


@dataclass(frozen=True, slots=True, kw_only=True)
class InteractiveProgram:
    """A running program; its last line is its exit code."""

    process: "subprocess.Popen[str]"
    lines: "Queue[str]"

    def expect(self, *lines: str) -> None:
        """Read the next lines of output, which must be these `lines`."""
        for line in lines:
            actual = self.lines.get(timeout=_PATIENCE)
            assert actual == line, f"{actual} instead of {line}"

    def end(self) -> None:
        """Send SIGTERM without waiting."""
        self.process.send_signal(signal.SIGTERM)


@contextmanager
def running_program(
    command: Sequence[str], folder: Path, environment: dict[str, str]
) -> Iterator[InteractiveProgram]:
    """Run `command` until the block ends, with a clean environment."""
    variables = {"PATH": os.environ["PATH"], "HOME": str(folder), **environment}
    lines: Queue[str] = Queue()
    with (
        (folder / "stderr").open("a") as errors,
        subprocess.Popen(
            command,
            cwd=folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        reader = Thread(target=_read, args=(process, lines))
        reader.start()
        try:
            yield InteractiveProgram(process=process, lines=lines)
        finally:
            process.kill()
            reader.join()


def _read(process: "subprocess.Popen[str]", lines: "Queue[str]") -> None:
    assert process.stdout is not None
    for line in process.stdout:
        lines.put(line.rstrip("\n"))
    lines.put(f"ended with {process.wait()}")
