"""Driver that runs a command for each maintenance.

Each command runs under a supervisor process (see `script_supervisor`). Supervisors
share a lock on a file while they live. A new service waits for that lock, so that
nothing starts while processes of an earlier service are still ending.
"""

import fcntl
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from threading import Condition, Lock, Thread

import forewarn
from forewarn.drivers.script_protocol import (
    ScriptResult,
    reports_of,
    script_environment,
    script_input,
)
from forewarn.errors import CannotStart
from forewarn.ports import Printed, Report, Work
from forewarn.processes import command_problem, kill_session

_log = logging.getLogger(__name__)

_SUPERVISOR = (
    "import sys; sys.path.insert(0, sys.argv[1]);"
    " from forewarn.drivers.script_supervisor import main; main()"
)
_HOME = str(Path(forewarn.__file__).parents[1])
_OLD_SCRIPTS = 10.0  # seconds for scripts of an earlier service to end
_CHUNK = 64 * 1024  # bytes
_LAST = 1.5  # seconds for killed scripts when the service stops


class ScriptDriver:
    """Runs one command per maintenance, with its details as input."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        timeout: float = 3600.0,
        grace: float = 5.0,
        lock_file: Path | None = None,
    ) -> None:
        """Run `command` for at most `timeout` seconds; 0 for no limit.

        It has `grace` seconds to end when asked to. Supervisors lock `lock_file`; None
        if the store is in memory, so that a new service has nothing to repeat.
        """
        self._command = command
        self._timeout = timeout
        self._grace = grace
        self._lock_file = lock_file
        self._changed = Condition()
        self._running: set[_SupervisedScript] = set()

    def open(self) -> None:
        """Check that the command can be run and no old script is running."""
        problem = command_problem(self._command)
        if problem is not None:
            raise CannotStart(f"the command of the driver cannot be run: {problem}")
        if self._lock_file is not None and not _is_free(self._lock_file):
            _log.warning("scripts of an earlier service are still running; going on")

    def close(self) -> None:
        """Kill all running scripts."""
        with self._changed:
            for script in self._running:
                script.end(0.0)
            self._changed.wait_for(lambda: not self._running, _LAST)

    def carry_out(self, work: Work) -> Iterator[Report | Printed | Sequence[Report]]:
        """Run the command for `work`, and yield its reports as they arrive."""
        if work.halt.is_set():
            return
        reported: set[str] = set()
        result = ScriptResult(error="its attendant was killed")
        problem = command_problem(self._command)
        try:
            if problem is not None:
                raise OSError(problem)
            with self._supervised(work) as script:
                for item in script.messages():
                    if isinstance(item, ScriptResult):
                        result = item
                    else:
                        reported.update(report.vm for report in item)
                        yield item
        except OSError as error:
            result = ScriptResult(error=f"the command cannot be started: {error}")
        yield from reports_of(work, reported, result, self._timeout)

    @contextmanager
    def _supervised(self, work: Work) -> "Iterator[_SupervisedScript]":
        order = {
            "command": [*self._command],
            "input": script_input(work),
            "vms": [vm.name for vm in work.vms],
            "timeout": self._timeout,
            "grace": self._grace,
        }
        environment = script_environment(work, os.environ)
        script = _SupervisedScript(environment, self._lock_file)

        def end_when_halted() -> None:
            work.halt.wait()
            script.end(self._grace)

        with self._changed:
            self._running.add(script)
        try:
            script.send(json.dumps(order))
            Thread(target=end_when_halted, name="halt", daemon=True).start()
            yield script
        finally:
            work.halt.set()  # so that the thread ends
            script.close()
            with self._changed:
                self._running.remove(script)
                self._changed.notify_all()


class _SupervisedScript:
    """A running script, seen from the service: its supervisor process."""

    def __init__(self, environment: dict[str, str], lock_file: Path | None) -> None:
        """Start the supervisor; it waits for its order."""
        lock = None if lock_file is None else _share_lock(lock_file)
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _SUPERVISOR, _HOME],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                pass_fds=() if lock is None else (lock,),
                start_new_session=True,  # also the script's session
            )
        finally:
            if lock is not None:
                os.close(lock)
        self._lock = Lock()

    def send(self, line: str) -> None:
        """Write one line to the supervisor, unless it is gone."""
        assert self._process.stdin is not None
        with self._lock, suppress(BrokenPipeError, ValueError):
            self._process.stdin.write(line.encode() + b"\n")
            self._process.stdin.flush()

    def end(self, grace: float) -> None:
        """Ask the script to end; it is killed after `grace` seconds."""
        self.send(f"{grace:g}")

    def messages(self) -> Iterator[Sequence[Report] | ScriptResult]:
        """Yield reports, grouped as they arrive, and then the result."""
        is_over = False
        for lines in self._lines():
            messages = [json.loads(line) for line in lines]
            reports = [Report(**message) for message in messages if "vm" in message]
            if reports:
                yield reports
            for last in messages[len(reports) :]:
                is_over = True
                yield ScriptResult(**last)
        if not is_over:
            kill_session(self._process.pid, _LAST)  # its supervisor is gone

    def _lines(self) -> Iterator[Sequence[bytes]]:
        """Yield complete lines as they arrive; drop an incomplete last one."""
        assert self._process.stdout is not None
        stdout = self._process.stdout.fileno()
        rest = b""
        while data := os.read(stdout, _CHUNK):
            *lines, rest = (rest + data).split(b"\n")
            if lines:
                yield lines

    def close(self) -> None:
        """Close the pipes, which ends whatever is left."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._lock, suppress(BrokenPipeError):
            self._process.stdin.close()
        with self._process.stdout as rest:
            rest.read()
        self._process.wait()


# --- the supervisors' lock file ----------------------------------------------


def _share_lock(path: Path) -> int:
    """Open `path` and take a shared lock on it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    return descriptor


def _is_free(path: Path) -> bool:
    """Wait until `path` is unlocked; return False after a while."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise CannotStart(f"{path} cannot be used: {error.strerror}") from error

    def take() -> None:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        os.close(descriptor)

    waiting = Thread(target=take, name="old scripts", daemon=True)
    waiting.start()
    waiting.join(_OLD_SCRIPTS)
    return not waiting.is_alive()
