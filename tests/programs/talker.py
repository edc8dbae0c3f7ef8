"""A program in a process of its own, whose lines are read as they come."""

import os
import signal
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, Queue
from threading import Thread

_PATIENCE = 10.0  # seconds for a line; it takes a moment


@dataclass(frozen=True, slots=True, kw_only=True)
class Talker:
    """A running program; its last line says how it has ended."""

    process: "subprocess.Popen[str]"
    lines: "Queue[str]"

    def expect(self, *lines: str) -> None:
        """Read what it says next, which must be these `lines`."""
        for line in lines:
            told = self.lines.get(timeout=_PATIENCE)
            assert told == line, f"{told} instead of {line}"

    def says_nothing_more(self) -> bool:
        """Tell whether all that it has said was read."""
        try:
            self.lines.get_nowait()
        except Empty:
            return True
        return False

    def end(self) -> None:
        """Ask it to end, and do not wait."""
        self.process.send_signal(signal.SIGTERM)


@contextmanager
def talking(
    command: Sequence[str], folder: Path, environment: dict[str, str]
) -> Iterator[Talker]:
    """Run `command` until the block ends, with nothing of ours in its environment."""
    given = {"PATH": os.environ["PATH"], "HOME": str(folder), **environment}
    lines: Queue[str] = Queue()
    with (
        (folder / "stderr").open("a") as errors,
        subprocess.Popen(
            command,
            cwd=folder,
            env=given,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        reader = Thread(target=_read, args=(process, lines))
        reader.start()
        try:
            yield Talker(process=process, lines=lines)
        finally:
            process.kill()
            reader.join()


def _read(process: "subprocess.Popen[str]", lines: "Queue[str]") -> None:
    assert process.stdout is not None
    for line in process.stdout:
        lines.put(line.rstrip("\n"))
    lines.put(f"ended with {process.wait()}")
