"""The program under test: its process, its output and all child processes.

1. A thread reads the output as the program prints it. `read_output` reads what the
   program has printed so far, so that a line counts as printed before a request that
   the program sends afterward.
2. The program has ended when its process has ended and no other process holds its
   output open. A script may therefore start the real program in the background.
"""

import os
import re
import selectors
import shutil
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Lock, Thread
from typing import IO, TypeAlias

from forewarn.errors import CannotStart

#: A part of a command.
CommandPart: TypeAlias = str | os.PathLike[str]

_TAIL = 4000  # characters
_KEPT = 10_000  # lines
_CHUNK = 65_536  # bytes, the usual capacity of a pipe
_LAST_CHUNKS = 64  # read at most after the program has been stopped
_PART = (str, bytes, os.PathLike)  # types of the parts of a command
_INTERPRETER = re.compile(r"(python|pypy|node|ruby|perl|php|sh|bash|dash)[\d.]*")


class Program:
    """A process in its own session, so that child processes stop with the process."""

    def __init__(
        self,
        command: Sequence[CommandPart],
        environment: Mapping[str, str],
        *,
        cwd: CommandPart | None = None,
        output: CommandPart | None = None,
        vm: str | None = None,
        on_output: Callable[[Sequence[str]], None] = lambda _: None,
        on_end: Callable[[], None] = lambda: None,
        on_failure: Callable[[BaseException], None] = lambda _: None,
        grace: float = 3.0,
    ) -> None:
        """Create a program from `command`, with additional variables in `environment`.

        The program runs in the folder `cwd` and in the rehearsed VM `vm`. Its output is
        also written to the file `output`, if given. `on_output` is called with the
        lines that the program has printed, and with none when the output ends. `on_end`
        is called when the process has ended, and `on_failure` with an exception that
        ends the `with` block. To stop the program, SIGTERM is sent, followed by SIGKILL
        after `grace` seconds.
        """
        self.name = name_of(command)
        self.vm = vm
        self._command = command
        self._environment = environment
        self._cwd = cwd
        self._output = output
        self._on_output = on_output
        self._on_end = on_end
        self._on_failure = on_failure
        self._grace = grace
        self._file: IO[bytes] | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._threads: Sequence[Thread] = ()
        self._reading = Lock()
        self._pipe: int | None = None  # None unless the `with` block is running
        self._has_output_ended = False
        self._lines: deque[str] = deque(maxlen=_KEPT)
        self._rest = b""  # of the output, after its last complete line
        self.is_open = False  # whether the `with` block is running
        self.was_stopped = False  # whether the end of the block ended the program
        self.began = 0.0  # monotonic
        self.ended: float | None = None  # monotonic; None while running
        self.code: int | None = None  # exit code; if negative, a signal

    def __enter__(self) -> "Program":
        """Start the program."""
        __tracebackhide__ = True  # pytest shows the line of the test
        if not self._command or not all(isinstance(e, _PART) for e in self._command):
            raise CannotStart(
                "pass each part of a command as a string: run('sleep', '5'), not"
                f" run{tuple(self._command)!r}"
            )
        self._file = self._open_output()
        self._pipe, end = os.pipe()
        os.set_blocking(self._pipe, False)  # a request may arrive before `_start` ends
        try:
            self._process = self._start(end)
        except BaseException:
            self._close()
            raise
        finally:
            os.close(end)
        self.began, self.is_open = time.monotonic(), True
        stop, self._stop_reading = os.pipe()
        self._threads = (
            Thread(target=self._wait, name="program", daemon=True),
            Thread(target=self._read, args=(stop,), name="program output", daemon=True),
        )
        for thread in self._threads:
            thread.start()
        return self

    def _open_output(self) -> IO[bytes] | None:
        __tracebackhide__ = True
        if self._output is None:
            return None
        try:
            return open(self._output, "wb")
        except OSError as error:
            raise CannotStart(
                f"cannot write {self._output}: {error.strerror}"
            ) from None

    def _start(self, output: int) -> "subprocess.Popen[bytes]":
        __tracebackhide__ = True
        if self._cwd is not None and not Path(self._cwd).is_dir():
            raise CannotStart(f"cannot start {self.name}: no such folder: {self._cwd}")
        unbuffered = {"PYTHONUNBUFFERED": "1"}  # a pipe would delay Python's lines
        try:
            return subprocess.Popen(
                self._command,
                cwd=self._cwd,
                env={**unbuffered, **os.environ, **self._environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or error
            raise CannotStart(
                f"cannot start {os.fspath(self._command[0])}: {reason}"
            ) from None

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

    # --- state ---------------------------------------------------------------

    @property
    def is_running(self) -> bool:
        """Return whether the program has started and has not ended."""
        return self._process is not None and self.ended is None

    @property
    def has_ended(self) -> bool:
        """Return whether the program has ended and no process holds its output open."""
        if self.ended is None:
            return False
        self.read_output()
        return self._has_output_ended

    @property
    def has_failed(self) -> bool:
        """Return whether the program ended on its own, with an error."""
        return self.ended is not None and not self.was_stopped and self.code != 0

    @property
    def state(self) -> str:
        """How the program ended, in the words of a sentence, or that it is running."""
        if self.ended is None:
            return "is running" if self.is_open else "has not started"
        lived = f"{self.ended - self.began:.1f} s"
        seconds = f"after {'less than 0.1 s' if lived == '0.0 s' else lived}"
        if self.was_stopped:
            return f"was stopped {seconds}"
        if self.code is not None and self.code < 0:
            return f"was killed by {_signal_name(-self.code)} {seconds}"
        return f"exited with code {self.code} {seconds}"

    # --- stopping ------------------------------------------------------------

    def __exit__(self, *exception: object) -> None:
        """Stop the program and all child processes; keep the end of the output."""
        assert self._process is not None
        self.was_stopped = self.ended is None
        waiting, reading = self._threads
        try:
            self._signal(signal.SIGTERM)
            waiting.join(self._grace)
        finally:  # even after a second Ctrl-C
            self._signal(signal.SIGKILL)  # even processes that outlive their parent
        waiting.join()  # before `wait` releases the PID, which the thread uses
        self._process.wait()
        self.is_open = False
        os.close(self._stop_reading)
        reading.join()
        self._close()
        if len(exception) > 1 and isinstance(exception[1], BaseException):
            self._on_failure(exception[1])

    def _signal(self, number: signal.Signals) -> None:
        assert self._process is not None
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def _close(self) -> None:
        with self._reading:
            if self._pipe is not None:
                os.close(self._pipe)
            self._pipe = None
            if self._file is not None:
                self._file.close()

    # --- output --------------------------------------------------------------

    @property
    def written(self) -> str:
        """The end of the output so far."""
        with self._reading:
            text = "\n".join([*self._lines, _text(self._rest)])
        return text[-_TAIL:].strip()

    def lines_with(self, text: str) -> Sequence[str]:
        """Return the lines that contain `text`, among the last lines of the output."""
        self.read_output()
        with self._reading:
            lines = [*self._lines, _text(self._rest)]
        return [line for line in lines if text in line]

    def read_output(self) -> None:
        """Read what the program has printed so far, without waiting for more."""
        with self._reading:
            self._read_chunk()

    def _read_chunk(self) -> None:
        """Read at most a pipe's capacity."""
        if self._pipe is None or self._has_output_ended:
            return
        try:
            data = os.read(self._pipe, _CHUNK)
        except BlockingIOError:
            return
        self._has_output_ended = not data
        if self._file is not None:
            self._file.write(data)
            self._file.flush()
        *lines, self._rest = (self._rest + data).split(b"\n")
        if len(self._rest) > _CHUNK or not data:
            lines, self._rest = [*lines, self._rest], b""
        texts = [_text(line) for line in lines if line or data]
        self._lines += texts
        self._on_output(texts)

    def _read(self, stop: int) -> None:
        """Read the output until it ends or `stop` closes."""
        pipe, left = self._pipe, _LAST_CHUNKS
        assert pipe is not None
        with selectors.DefaultSelector() as selector:
            selector.register(pipe, selectors.EVENT_READ)
            selector.register(stop, selectors.EVENT_READ)
            while left and not self._has_output_ended:
                ready = {key.fd for key, _ in selector.select()}
                if pipe in ready:
                    self.read_output()
                if stop in ready:  # a process that escaped may print forever
                    left = left - 1 if pipe in ready else 0
        os.close(stop)


def name_of(command: Sequence[CommandPart]) -> str:
    """Return a short name of the program: its file, even if an interpreter runs it."""
    words = [os.fsdecode(part) for part in command if isinstance(part, _PART)]
    names = [Path(word).name for word in words]
    if len(names) > 1 and _INTERPRETER.fullmatch(names[0]):
        if words[1] == "-m" and len(words) > 2:
            return words[2]
        script = next((word for word in words[1:] if not word.startswith("-")), "")
        if "-c" not in words and "-e" not in words and script:
            return Path(script).name
    return names[0] if names else "the program"


def with_python(
    command: Sequence[CommandPart], folders: Sequence[Path]
) -> Sequence[CommandPart]:
    """Make `command` run a Python file, if its first part is one.

    The file is searched for in `folders`. Unless it is an executable script, this
    Python runs it.
    """
    if not command or not isinstance(command[0], str | os.PathLike):
        return command
    file = os.fspath(command[0])
    if not file.endswith(".py"):
        return command
    paths = [path for folder in folders if (path := folder / file).is_file()]
    if not paths and shutil.which(file):
        return command
    if not paths:
        where = " or ".join(dict.fromkeys(str(folder) for folder in folders))
        raise CannotStart(f"cannot find {file} in {where}")
    with paths[0].open("rb") as script:
        has_interpreter = script.read(2) == b"#!"
    if has_interpreter and os.access(paths[0], os.X_OK):
        return [str(paths[0]), *command[1:]]
    return [sys.executable, str(paths[0]), *command[1:]]


def describe_exit(code: int | None) -> str:
    """Describe how a program ended; a negative code is the signal that killed it."""
    if code is not None and code < 0:
        return f"was killed by signal {-code}"
    return f"ended with exit code {code}"


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"


def _text(line: bytes) -> str:
    return line.decode(errors="replace").rstrip("\r")
