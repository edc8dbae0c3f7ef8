"""A driver that runs a command for each maintenance operation.

1. Each command runs under a supervisor process (see `script_supervisor`). Running
   supervisors share a lock on a file.
2. No command starts while scripts from an earlier service are running. Their
   supervisors hold the lock, and a variable with the lock's name marks their processes.
3. Anything left behind by an earlier service is killed: scripts without a supervisor
   immediately, and supervisors that do not end on their own after a while.
"""

import fcntl
import json
import logging
import os
import signal
import subprocess
import sys
import time
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
from forewarn.drivers.script_supervisor import SUPERVISOR_VARIABLE
from forewarn.errors import CannotStart
from forewarn.ports import Printed, Report, Work
from forewarn.processes import (
    command_problem,
    kill_session,
    marked_sessions,
    with_variable,
)

_log = logging.getLogger(__name__)

_SUPERVISOR = (
    "import sys; sys.path.insert(0, sys.argv[1]);"
    " from forewarn.drivers.script_supervisor import main; main()"
)
_HOME = str(Path(forewarn.__file__).parents[1])
_OLD_SCRIPTS = 10.0  # seconds for an earlier service's scripts to end on their own
_LOOK = 0.2  # seconds between two checks for them
_HELD_BACK = (
    "scripts from the previous run are still running and forewarn could not kill"
    " them, so no new scripts will start"
)
_CHUNK = 64 * 1024  # bytes
_LAST = 1.5  # seconds to wait for killed scripts when the service stops


class ScriptDriver:
    """Runs a command for each maintenance operation; the details are its input."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        timeout: float = 3600.0,
        grace: float = 5.0,
        lock_file: Path | None = None,
        patience: float = _OLD_SCRIPTS,
    ) -> None:
        """Create a driver that runs `command`.

        The command receives SIGTERM after `timeout` seconds, unless that is 0, and is
        killed `grace` seconds later. Supervisors lock `lock_file`, which is None if the
        store is in memory, because a new service then has no work to repeat.
        Supervisors from an earlier service are killed after `patience` seconds.
        """
        self._command = command
        self._timeout = timeout
        self._grace = grace
        self._lock_file = lock_file
        self._old = None if lock_file is None else _OldScripts(lock_file, patience)
        self._changed = Condition()
        self._running: set[_SupervisedScript] = set()

    def open(self) -> None:
        """Check that the command can run and begin to end old scripts."""
        problem = command_problem(self._command)
        if problem is not None:
            raise CannotStart(f"cannot run the driver's command: {problem}")
        if self._old is not None:
            self._old.open()

    @property
    def warning(self) -> str:
        """The reason why no commands can start now; empty if commands can start."""
        return "" if self._old is None else self._old.warning

    def close(self) -> None:
        """Kill all running scripts."""
        with self._changed:
            for script in self._running:
                script.end(0.0)
            self._changed.wait_for(lambda: not self._running, _LAST)

    def carry_out(self, work: Work) -> Iterator[Report | Printed | Sequence[Report]]:
        """Run the command for `work` and yield the command's reports as they arrive."""
        if work.halt.is_set():
            return
        reported: set[str] = set()
        result = ScriptResult(error="its supervisor was killed")
        problem = command_problem(self._command)
        try:
            if problem is not None:
                raise OSError(problem)
            if not self._await_old_scripts(work):
                return
            with self._supervised(work) as script:
                for item in script.messages():
                    if isinstance(item, ScriptResult):
                        result = item
                    else:
                        reported.update(report.vm for report in item)
                        yield item
        except OSError as error:
            result = ScriptResult(error=f"cannot start the command: {error}")
        yield from reports_of(work, reported, result, self._timeout)

    def _await_old_scripts(self, work: Work) -> bool:
        """Wait until old scripts have ended; return False if `work` is halted."""
        while self._old is not None and not self._old.are_gone():
            if work.halt.wait(_LOOK):
                return False
        return True

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
        if self._lock_file is not None:
            environment[SUPERVISOR_VARIABLE] = str(self._lock_file)
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
    """A running script as the service sees it, through its supervisor process."""

    def __init__(self, environment: dict[str, str], lock_file: Path | None) -> None:
        """Start the supervisor, which then waits for its order."""
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
        """Send SIGTERM to the script, which is killed after `grace` seconds."""
        self.send(f"{grace:g}")

    def messages(self) -> Iterator[Sequence[Report] | ScriptResult]:
        """Yield reports, grouped as they arrive, followed by the result."""
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
            kill_session(self._process.pid, _LAST)  # the supervisor is gone

    def _lines(self) -> Iterator[Sequence[bytes]]:
        """Yield complete lines as they arrive; drop an incomplete last line."""
        assert self._process.stdout is not None
        stdout = self._process.stdout.fileno()
        rest = b""
        while data := os.read(stdout, _CHUNK):
            *lines, rest = (rest + data).split(b"\n")
            if lines:
                yield lines

    def close(self) -> None:
        """Close the pipes, which ends any remaining processes."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with self._lock, suppress(BrokenPipeError):
            self._process.stdin.close()
        with self._process.stdout as rest:
            rest.read()
        self._process.wait()


# --- scripts of an earlier service -------------------------------------------


class _OldScripts:
    """Scripts left running by an earlier service on the same store."""

    def __init__(self, lock_file: Path, patience: float) -> None:
        """Create the state of scripts whose supervisors lock `lock_file`.

        Supervisors still running `patience` seconds after `open` are killed.
        """
        self._path = lock_file
        self._patience = patience
        self._kill_at = float("inf")
        self._lock = Lock()  # guards the fields below
        self._are_gone = False  # if so, only our own supervisors hold the lock
        self.warning = ""  # empty unless the scripts cannot be ended

    def open(self) -> None:
        """Look for old scripts; raise `CannotStart` if that is impossible.

        This does not wait for the scripts to end, so VMs are served in the meantime.
        """
        self._kill_at = time.monotonic() + self._patience
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self.are_gone()
        except OSError as error:
            raise CannotStart(
                f"cannot use the lock file {self._path}: {error.strerror}"
            ) from error

    def are_gone(self) -> bool:
        """Return whether all scripts have ended; once True, the result stays True."""
        with self._lock:
            if not self._are_gone:
                self._are_gone = self._end()
            return self._are_gone

    def _end(self) -> bool:
        """End the scripts that may be ended by now; return True if none are left."""
        mark, is_late = str(self._path), time.monotonic() >= self._kill_at
        supervisors = {*with_variable(SUPERVISOR_VARIABLE, mark)}
        if is_late:
            for supervisor in supervisors:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(supervisor, signal.SIGKILL)
        for session in marked_sessions(SUPERVISOR_VARIABLE, mark):
            if is_late or session not in supervisors:
                kill_session(session, _LAST)
        are_left = bool(marked_sessions(SUPERVISOR_VARIABLE, mark))
        if not are_left and _is_unlocked(self._path):
            if self.warning:
                _log.info(
                    "all scripts from the previous run have ended; new scripts can"
                    " start"
                )
            self.warning = ""
            return True
        if is_late and not self.warning:
            self.warning = _HELD_BACK
            _log.warning(
                "%s; to find the processes, run `fuser %s`", _HELD_BACK, self._path
            )
        return False


def _share_lock(path: Path) -> int:
    """Open `path` and take a shared lock on it."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    fcntl.flock(descriptor, fcntl.LOCK_SH)
    return descriptor


def _is_unlocked(path: Path) -> bool:
    """Return True if no process holds a lock on `path`; create the file if needed."""
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    finally:
        os.close(descriptor)
    return True
