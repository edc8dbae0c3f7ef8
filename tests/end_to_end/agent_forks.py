"""Agents that begin in milliseconds, because a process that is ready forks them.

Run as a program, it reads the path of an agent's file from each line, and answers the
number of the process that it began. It ends, with all of them, when its input does.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Lock

from tests.end_to_end.program import environment_of
from tests.patience import PATIENCE


class Nursery:
    """A process that begins agents; any thread may ask it."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self._lock = Lock()

    def begin(self, file: Path) -> int:
        """Begin an agent; answer the number of its process."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._lock:
            self._process.stdin.write(f"{file}\n")
            self._process.stdin.flush()
            return int(self._process.stdout.readline())


@contextmanager
def a_nursery(folder: Path) -> Iterator[Nursery]:
    """Let agents be begun until the block ends."""
    root = Path(__file__).parents[2]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.end_to_end.nursery"],
        env=environment_of(folder, FOREWARN_TOKEN=None, PYTHONPATH=str(root)),
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield Nursery(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(PATIENCE)


def main() -> None:
    """Begin agents as asked, and end them."""
    from forewarn.agent.config import preflight  # noqa: F401  # ready

    begun: set[int] = set()
    for line in sys.stdin:
        begun -= {each for each in begun if os.waitpid(each, os.WNOHANG)[0]}
        pid = os.fork()
        if pid == 0:
            _be_an_agent(Path(line.strip()))
        begun.add(pid)
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()
    for each in begun:
        if not os.waitpid(each, os.WNOHANG)[0]:
            os.kill(each, signal.SIGKILL)
            os.waitpid(each, 0)


def _be_an_agent(file: Path) -> None:
    """Become the program that `forewarn agent --config FILE` is."""
    from forewarn.cli import main as main_

    code = 1
    try:
        log = os.open(file.parent / "log", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for number, place in ((nothing, 0), (log, 1), (log, 2)):
            os.dup2(number, place)
        os.chdir(file.parent)
        code = main_.main(["agent", "--config", str(file)])
    finally:
        os._exit(code)


if __name__ == "__main__":
    main()
