"""Agents forked from a warm process, so that each starts in milliseconds.

Run as a program, this module reads the path of an agent's configuration from each line
of its input, and prints the process id of the agent that it starts. When its input
ends, it kills all agents and exits.
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


class AgentForks:
    """A process that forks agents; safe to use from any thread."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self._process = process
        self._lock = Lock()

    def begin(self, file: Path) -> int:
        """Start an agent and return its process id."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._lock:
            self._process.stdin.write(f"{file}\n")
            self._process.stdin.flush()
            return int(self._process.stdout.readline())


@contextmanager
def agent_forks(folder: Path) -> Iterator[AgentForks]:
    """Run a process that forks agents until the block ends."""
    root = Path(__file__).parents[2]
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.end_to_end.agent_forks"],
        env=environment_of(folder, FOREWARN_TOKEN=None, PYTHONPATH=str(root)),
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        try:
            yield AgentForks(process)
        finally:
            assert process.stdin is not None
            process.stdin.close()
            process.wait(PATIENCE)


def main() -> None:
    """Start an agent for each line of input, and kill all of them at its end."""
    from forewarn.agent.config import preflight  # noqa: F401  # loaded before forking

    begun: set[int] = set()
    for line in sys.stdin:
        begun -= {child for child in begun if os.waitpid(child, os.WNOHANG)[0]}
        pid = os.fork()
        if pid == 0:
            _run_agent(Path(line.strip()))
        begun.add(pid)
        sys.stdout.write(f"{pid}\n")
        sys.stdout.flush()
    for child in begun:
        if not os.waitpid(child, os.WNOHANG)[0]:
            os.kill(child, signal.SIGKILL)
            os.waitpid(child, 0)


def _run_agent(file: Path) -> None:
    """Run `forewarn agent --config FILE` in this process, and exit."""
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
