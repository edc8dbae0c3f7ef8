"""The program under test: its process and all child processes."""

import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from threading import Thread
from typing import IO

from forewarn.errors import CannotStart

_TAIL = 4000  # bytes
_PART = (str, bytes, os.PathLike)  # types of the parts of a command


class Program:
    """A process in its own session, so that child processes stop with the process."""

    def __init__(
        self,
        command: Sequence[str],
        environment: Mapping[str, str],
        *,
        output: str | None = None,
        on_end: Callable[[], None] = lambda: None,
        grace: float = 3.0,
    ) -> None:
        """Create a program from `command`, with additional variables in `environment`.

        When the program has ended, `on_end` is called. Output goes to the file
        `output`, or to a temporary file if `output` is None. To stop the program,
        SIGTERM is sent, followed by SIGKILL after `grace` seconds.
        """
        self._command = command
        self._environment = environment
        self._output = output
        self._on_end = on_end
        self._grace = grace
        self._file: IO[bytes] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._thread: Thread | None = None
        self.written = ""  # the end of the output; empty until stopped
        self.began = 0.0  # monotonic
        self.ended: float | None = None  # monotonic; None while running
        self.code: int | None = None  # exit code; if negative, a signal

    def __enter__(self) -> "Program":
        """Start the program."""
        if not self._command or not all(isinstance(e, _PART) for e in self._command):
            raise CannotStart(
                "pass each part of a command as a string: run('sleep', '5'), not"
                f" run{tuple(self._command)!r}"
            )
        self._file = self._open_output()
        try:
            self._process = subprocess.Popen(
                self._command,
                env={**os.environ, **self._environment},
                stdin=subprocess.DEVNULL,
                stdout=self._file,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            self._file.close()
            reason = getattr(error, "strerror", None) or error
            raise CannotStart(f"cannot start {self._command[0]}: {reason}") from error
        self.began = time.monotonic()
        self._thread = Thread(target=self._wait, name="program", daemon=True)
        self._thread.start()
        return self

    def _open_output(self) -> IO[bytes]:
        if self._output is None:
            return tempfile.TemporaryFile()
        try:
            return open(self._output, "w+b")
        except OSError as error:
            raise CannotStart(
                f"cannot write {self._output}: {error.strerror}"
            ) from error

    def _wait(self) -> None:
        """Wait for the program to end, but do not reap the process yet.

        Until the program is reaped, no other process can get the program's PID. On
        macOS, Python can wait this way since version 3.13.
        """
        assert self._process is not None
        if hasattr(os, "waitid"):
            end = os.waitid(os.P_PID, self._process.pid, os.WEXITED | os.WNOWAIT)
            assert end is not None
            was_killed = end.si_code != os.CLD_EXITED
            self.code = -end.si_status if was_killed else end.si_status
        else:
            self.code = self._process.wait()
        self.ended = time.monotonic()
        self._on_end()

    @property
    def is_running(self) -> bool:
        """Return whether the program has started and has not ended."""
        return self._process is not None and self.ended is None

    def __exit__(self, *exception: object) -> None:
        """Stop the program and all child processes; keep the end of the output."""
        assert self._process is not None
        assert self._thread is not None
        assert self._file is not None
        try:
            self._signal(signal.SIGTERM)
            self._thread.join(self._grace)
        finally:  # even after a second Ctrl-C
            self._signal(signal.SIGKILL)  # even processes that outlive their parent
        self._thread.join()  # before `wait` releases the PID, which the thread uses
        self._process.wait()
        self.written = self.tail()
        self._file.close()

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def tail(self) -> str:
        """Return the end of the output so far."""
        if self._file is None or self._file.closed:
            return self.written
        number = self._file.fileno()
        size = os.fstat(number).st_size  # a seek would change where the program writes
        data = os.pread(number, _TAIL, max(0, size - _TAIL))
        return data.decode(errors="replace").strip()


def describe_exit(code: int | None) -> str:
    """Describe how a program ended; a negative code is the signal that killed it."""
    if code is not None and code < 0:
        return f"was killed by signal {-code}"
    return f"ended with exit code {code}"
