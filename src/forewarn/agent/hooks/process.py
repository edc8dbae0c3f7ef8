"""A child process and its pipes; the process is always reaped.

1. The process leads its own session and process group. A terminal's signals to the
   agent do not reach it, and any processes that it starts are terminated with it.
2. The process is signaled only before it is reaped, because its PID could be reused
   afterward.
"""

import os
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from itertools import islice
from selectors import EVENT_READ, EVENT_WRITE, PollSelector
from threading import Thread
from typing import IO, Self

from forewarn import processes

_CHUNK = 64 * 1024  # bytes
_WATCH_LIMIT = 32  # processes at a time; each uses a file descriptor
_AFTER_KILL = 1.0  # seconds to wait for a killed process before giving up
_OUTPUT_LIMIT = 4096  # bytes
_CONTROLS = {
    code: "\N{REPLACEMENT CHARACTER}"
    for code in (*range(32), *range(127, 160))
    if chr(code) not in "\n\t"
}


class OutputTail:
    """The last part of a process's output."""

    def __init__(self) -> None:
        """Create an empty tail."""
        self._kept = b""
        self._is_cut = False

    def add(self, data: bytes) -> None:
        """Append output; drop the oldest bytes beyond the limit."""
        whole = self._kept + data
        self._is_cut = self._is_cut or len(whole) > _OUTPUT_LIMIT
        self._kept = whole[-_OUTPUT_LIMIT:]

    def text(self) -> str:
        """Return the output as text, with control characters replaced."""
        kept = self._kept
        if self._is_cut:  # may start within a character
            kept = kept[:3].lstrip(bytes(range(0x80, 0xC0))) + kept[3:]
        text = kept.decode(errors="replace")
        return text.replace("\r\n", "\n").translate(_CONTROLS)


class HookProcess:
    """A running process; as a context manager, always reaps the process."""

    def __init__(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        stdin: bytes,
        tail: OutputTail,
        wake: int,
    ) -> None:
        """Start the process with `stdin` as input; collect its output in `tail`.

        A wait ends early when the file descriptor `wake` becomes readable.
        """
        self._process, self._pidfd = _start(command, environment)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._input, self._unsent = self._process.stdin, memoryview(stdin)
        self._output, self._tail = self._process.stdout, tail
        self._wake = wake
        self._descendants: set[int] = set()
        self._selector = PollSelector()
        self._selector.register(self._pidfd, EVENT_READ)
        self._selector.register(self._output, EVENT_READ)
        self._selector.register(self._input, EVENT_WRITE)
        self._selector.register(self._wake, EVENT_READ)
        self.has_ended = False
        self.was_killed = False
        self.code: int | None = None  # negative for a signal; None if unknown

    def __enter__(self) -> Self:
        """Return this process."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Kill the process if it is still running, reap it and close everything."""
        if not self.has_ended:
            self.end(0.0)
        for pidfd in [*self._descendants]:
            self._unwatch(pidfd)
        self._close(self._input)
        self._close(self._output)
        self._selector.close()
        os.close(self._pidfd)
        if self.has_ended:
            self.code = _exit_code(self._process.pid)
            self._process.wait()
        else:  # hung in the kernel, or owned by another user
            Thread(target=self._process.wait, name="reaper", daemon=True).start()

    def pump(self, seconds: float) -> None:
        """Move data through the pipes, waiting at most `seconds` for an event."""
        for key, _ in self._selector.select(max(seconds, 0.0)):
            if key.fd == self._pidfd:
                self._selector.unregister(self._pidfd)
                self.has_ended = True
            elif key.fileobj is self._output:
                self._read_output()
            elif key.fileobj is self._input:
                self._write_input()
            elif key.fd == self._wake:
                with suppress(BlockingIOError):
                    os.eventfd_read(self._wake)
            else:
                self._unwatch(key.fd)

    def end(self, kill_after: float) -> None:
        """Terminate the process tree; kill it after `kill_after` seconds."""
        self._signal(signal.SIGTERM)
        is_gone = self._wait_for_all(kill_after)
        self.was_killed = not is_gone
        self._signal(signal.SIGKILL)
        if not is_gone:
            self._wait_for_all(_AFTER_KILL)

    def drain(self, seconds: float) -> None:
        """Read the remaining output; wait at most `seconds` if the pipe stays open."""
        until = time.monotonic() + seconds
        while not self._output.closed and (left := until - time.monotonic()) > 0:
            self.pump(left)

    def _signal(self, number: int) -> None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, number)

    def _wait_for_all(self, seconds: float) -> bool:
        until = time.monotonic() + seconds
        while not (is_gone := self._is_gone()):
            left = until - time.monotonic()
            if left <= 0:
                break
            self.pump(left)
        return is_gone

    def _is_gone(self) -> bool:
        if self.has_ended and not self._descendants:
            pids = processes.group_members(self._process.pid)
            for pid in islice(pids, _WATCH_LIMIT):
                self._watch(pid)
        return self.has_ended and not self._descendants

    def _watch(self, pid: int) -> None:
        with suppress(OSError):  # already gone, or no file descriptor is free
            pidfd = os.pidfd_open(pid)
            self._descendants.add(pidfd)
            self._selector.register(pidfd, EVENT_READ)

    def _unwatch(self, pidfd: int) -> None:
        self._selector.unregister(pidfd)
        self._descendants.discard(pidfd)
        os.close(pidfd)

    def _read_output(self) -> None:
        with suppress(BlockingIOError):
            data = os.read(self._output.fileno(), _CHUNK)
            self._tail.add(data)
            if not data:
                self._close(self._output)

    def _write_input(self) -> None:
        try:
            sent = os.write(self._input.fileno(), self._unsent[:_CHUNK])
        except BlockingIOError:
            return
        except BrokenPipeError:  # the process does not read its input
            sent = len(self._unsent)
        self._unsent = self._unsent[sent:]
        if not self._unsent:
            self._close(self._input)

    def _close(self, pipe: IO[bytes]) -> None:
        if not pipe.closed:
            with suppress(KeyError):
                self._selector.unregister(pipe)
            pipe.close()


def _start(
    command: Sequence[str], environment: Mapping[str, str]
) -> tuple[subprocess.Popen[bytes], int]:
    process = subprocess.Popen(
        command,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        bufsize=0,
        start_new_session=True,
    )
    try:
        pidfd = os.pidfd_open(process.pid)
    except OSError:  # too many files; a process that cannot be watched must not run
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
        raise
    for pipe in (process.stdin, process.stdout):
        assert pipe is not None
        os.set_blocking(pipe.fileno(), False)
    return process, pidfd


def _exit_code(pid: int) -> int | None:
    """Return the exit code, or None if unknown (`subprocess` would return 0)."""
    try:
        ended = os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
    except ChildProcessError:  # SIGCHLD is ignored, so the kernel has no status
        return None
    assert ended is not None
    return ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
