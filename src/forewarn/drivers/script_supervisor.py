"""Supervisor process for one driver script.

1. The supervisor uses only the standard library, because it starts without
   site-packages.
2. The first line of its input is the order. Each later line is the number of seconds in
   which the script must end. The end of the input means that the service is gone.
3. The supervisor writes one line for each report and one for the result. It ends when
   the last process in the script's session has ended.
4. The script does not outlive the supervisor, because the kernel kills the script when
   its supervisor dies. The script's other processes are found by a variable in their
   environment.
"""

import ctypes
import json
import os
import re
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from forewarn.processes import session_members, signal_session

MOST_OUTPUT = 64 * 1024  # bytes; only the last ones are kept
LONGEST_LINE = 64 * 1024  # bytes; longer reports cannot be read
LONGEST_DETAIL = 1000  # characters

#: A variable with the lock file's path; for scripts, the session precedes the path.
SUPERVISOR_VARIABLE = "FOREWARN_SUPERVISOR"

_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG in <linux/prctl.h>
_CHUNK = 64 * 1024
_LAST_CHUNKS = 32  # more than a pipe can hold
_ORPHANED = 2.0  # seconds for a script whose service is gone
_MOST_WATCHED = 32  # processes at a time; each needs a file descriptor
_AFTER_KILL = 1.0  # seconds before an unkillable process is abandoned
#: Bytes without a visible character: spaces, a byte order mark, terminal colors.
_INVISIBLE = re.compile(rb"(?:\s|\xef\xbb\xbf|\x1b\[[0-9;?]*[A-Za-z])*")
_LIKE_A_REPORT = re.compile(rb'\{\s*"(vm|status|detail)"\s*:')
_TOO_LONG = f"is longer than {LONGEST_LINE // 1024} KiB"
_STATUS = 'has a status other than "done" and "failed"'
_MOST_QUOTED = 80  # bytes of an unreadable report
_CONTROLS = dict.fromkeys({*range(32), *range(127, 160)} - {9, 10}, "\ufffd")


class ScriptOrder(NamedTuple):
    """The command to supervise and its limits."""

    command: Sequence[str]
    input: str
    vms: Sequence[str]
    timeout: float  # seconds; 0 for none
    grace: float  # seconds between TERM and KILL


def main() -> None:
    """Supervise the order on the first line of the input."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda number, frame: None)  # the service decides
    read = b""
    while b"\n" not in read:
        chunk = os.read(0, _CHUNK)
        if not chunk:
            return  # the service is gone
        read += chunk
    order, _, rest = read.partition(b"\n")
    try:
        ScriptSupervisor(ScriptOrder(**json.loads(order))).run(rest)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        message = {"error": f"cannot start the command: {why}"}
        os.write(1, json.dumps(message).encode() + b"\n")


class ScriptSupervisor:
    """One script, from its start to the end of its last process."""

    def __init__(self, order: ScriptOrder) -> None:
        """Create a supervisor for the command in `order`."""
        self._order = order
        self._session = os.getpid()
        self._reader = OutputReader(order.vms)
        self._input = order.input.encode()
        self._deadline: float | None = None  # None without a time limit
        self._kill_at: float | None = None  # None unless it is being stopped
        self._give_up_at: float | None = None  # None unless it was killed
        self._is_late = self._is_halted = False
        self._has_ended = self._is_over = False
        self._watched: set[int] = set()  # pidfds of the session's processes
        self._unsent = b""
        self._poll = select.poll()
        self._handlers: dict[int, Callable[[int], None]] = {}

    def run(self, read: bytes = b"") -> None:
        """Run the script and return when its whole session has ended.

        `read` is the input that was already read after the order.
        """
        self._start()
        try:
            self._prepare()
            self._read_graces(read)
            while not self._is_over:
                for descriptor, _ in self._poll.poll(self._poll_timeout()):
                    if descriptor in self._handlers:
                        self._handlers[descriptor](descriptor)
                self._check_deadlines()
        finally:
            signal_session(self._session, signal.SIGKILL)
        self._read_rest()
        self._send(self._result())
        os.set_blocking(1, True)
        while self._unsent:
            self._flush(1)

    def _start(self) -> None:
        its_input, self._stdin = os.pipe()
        self._stdout, its_output = os.pipe()
        self._stderr, its_errors = os.pipe()
        self._script = subprocess.Popen(
            self._order.command,
            stdin=its_input,
            stdout=its_output,
            stderr=its_errors,
            env=self._environment(),
            process_group=0,
            preexec_fn=_die_with(self._session),  # safe: there are no other threads
        )
        for descriptor in (its_input, its_output, its_errors):
            os.close(descriptor)

    def _environment(self) -> Mapping[str, str]:
        """Return the script's environment, which marks the processes of its session."""
        lock = os.environ.get(SUPERVISOR_VARIABLE)
        if lock is None:
            return os.environ
        return {**os.environ, SUPERVISOR_VARIABLE: f"{self._session}:{lock}"}

    def _prepare(self) -> None:
        if self._order.timeout:
            self._deadline = time.monotonic() + self._order.timeout
        for descriptor in (1, self._stdin, self._stdout, self._stderr):
            os.set_blocking(descriptor, False)
        self._watch(self._script.pid)
        self._register(0, select.POLLIN, self._read_input)
        self._register(self._stdin, select.POLLOUT, self._write_stdin)
        self._register(self._stdout, select.POLLIN, self._read_stdout)
        self._register(self._stderr, select.POLLIN, self._read_stderr)

    def _register(
        self, descriptor: int, event: int, handler: Callable[[int], None]
    ) -> None:
        self._poll.register(descriptor, event)
        self._handlers[descriptor] = handler

    def _close(self, descriptor: int) -> None:
        self._poll.unregister(descriptor)
        del self._handlers[descriptor]
        if descriptor != 1:
            os.close(descriptor)

    # --- processes -----------------------------------------------------------

    def _watch(self, pid: int) -> None:
        with suppress(ProcessLookupError):
            descriptor = os.pidfd_open(pid)
            self._watched.add(descriptor)
            self._register(descriptor, select.POLLIN, self._process_ended)

    def _process_ended(self, descriptor: int) -> None:
        """Handle the end of a process; after the last process ends, look for others."""
        self._has_ended = True
        self._close(descriptor)
        self._watched.remove(descriptor)
        while not self._watched:
            left = [pid for pid, _ in session_members(self._session)]
            if not left:
                self._is_over = True
                return
            for pid in left[:_MOST_WATCHED]:
                self._watch(pid)
            if self._give_up_at is not None:
                signal_session(self._session, signal.SIGKILL)
            elif self._kill_at is None:
                self._end(self._order.grace)

    def _end(self, grace: float) -> None:
        """Send SIGTERM to the script; later calls may shorten the grace period."""
        if self._give_up_at is not None:
            return
        at = time.monotonic() + grace
        if self._kill_at is None:
            signal_session(self._session, signal.SIGTERM)
        self._kill_at = at if self._kill_at is None else min(at, self._kill_at)

    def _check_deadlines(self) -> None:
        now = time.monotonic()
        if _is_past(self._deadline, now):
            self._deadline = None
            self._is_late = not self._has_ended
            self._end(self._order.grace)
        if self._give_up_at is None and _is_past(self._kill_at, now):
            self._give_up_at = now + _AFTER_KILL
            signal_session(self._session, signal.SIGKILL)
        if _is_past(self._give_up_at, now):
            self._is_over = True

    def _poll_timeout(self) -> float | None:
        """Return the milliseconds until the next deadline, or None if there is none."""
        last = self._give_up_at or self._kill_at
        times = [moment for moment in (self._deadline, last) if moment is not None]
        if not times:
            return None
        return max(min(times) - time.monotonic(), 0.0) * 1000 + 1

    # --- input and output ----------------------------------------------------

    def _read_input(self, descriptor: int) -> None:
        data = os.read(descriptor, _CHUNK)
        self._read_graces(data)
        if not data:
            self._close(descriptor)
            self._end(_ORPHANED)

    def _read_graces(self, data: bytes) -> None:
        for seconds in data.split():
            self._is_halted = self._is_halted or not self._has_ended
            self._end(float(seconds))

    def _write_stdin(self, descriptor: int) -> None:
        try:
            self._input = self._input[os.write(descriptor, self._input) :]
        except BlockingIOError:
            return
        except OSError:  # the script does not read its input
            self._input = b""
        if not self._input:
            self._close(descriptor)

    def _read_stdout(self, descriptor: int) -> None:
        data = os.read(descriptor, _CHUNK)
        for report in self._reader.feed(data):
            self._send(report)
        if not data:
            self._close(descriptor)

    def _read_stderr(self, descriptor: int) -> None:
        data = os.read(descriptor, _CHUNK)
        self._reader.keep(data)
        if not data:
            self._close(descriptor)

    def _read_rest(self) -> None:
        """Read what is left in the pipes, but not indefinitely if they stay open."""
        for descriptor in (self._stdout, self._stderr):
            with suppress(BlockingIOError):
                for _ in range(_LAST_CHUNKS):
                    if descriptor in self._handlers:
                        self._handlers[descriptor](descriptor)
        for report in self._reader.end():
            self._send(report)

    def _result(self) -> Mapping[str, object]:
        code = self._script.poll()  # None if not even SIGKILL has ended it
        return {
            "output": self._reader.output,
            "code": code,
            "is_late": self._is_late,
            "is_halted": self._is_halted,
            "unreadable": self._reader.unreadable,
        }

    def _send(self, message: Mapping[str, object]) -> None:
        self._unsent += json.dumps(message).encode() + b"\n"
        if 1 not in self._handlers:
            self._register(1, select.POLLOUT, self._flush)

    def _flush(self, descriptor: int) -> None:
        try:
            self._unsent = self._unsent[os.write(descriptor, self._unsent) :]
        except BlockingIOError:
            return
        except OSError:  # nobody reads the output
            self._unsent = b""
        if not self._unsent and descriptor in self._handlers:
            self._close(descriptor)


def _die_with(supervisor: int) -> Callable[[], None]:
    """Return a function that makes a new child process die with `supervisor`.

    This works only while the thread that starts the child is alive. A program that
    changes its user when it starts, such as sudo, is not killed.
    """
    prctl = ctypes.CDLL(None).prctl

    def in_child() -> None:
        prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != supervisor:  # the supervisor died earlier
            os.kill(os.getpid(), signal.SIGKILL)

    return in_child


def _is_past(moment: float | None, now: float) -> bool:
    return moment is not None and now >= moment


# --- output of the script ----------------------------------------------------


class OutputReader:
    """Separates reports from other output and keeps the end of the other output.

    A line that looks like a report but cannot be parsed is kept as output and noted in
    `unreadable`, because it may have reported a failure.
    """

    def __init__(self, vms: Iterable[str]) -> None:
        """Create a reader that accepts reports about `vms`."""
        self._names = {name.lower(): name for name in vms}
        self._reported: set[tuple[str, bool]] = set()  # VM and whether it failed
        self._rest = b""  # an incomplete line
        self._is_long = False  # whether that line is too long for a report
        self._kept = bytearray()
        self.unreadable = ""  # why a report could not be read, if any

    @property
    def output(self) -> str:
        """The end of the output, excluding reports, as text."""
        return _clean(bytes(self._kept[-MOST_OUTPUT:]).decode(errors="replace"))

    def feed(self, data: bytes) -> Iterator[dict[str, object]]:
        """Process data from stdout; yield any reports in it."""
        block = self._rest + data
        end = block.rfind(b"\n") + 1
        whole, self._rest = block[:end], block[end:]
        if whole and self._is_long:
            start = whole.index(b"\n") + 1
            self.keep(whole[:start])
            whole, self._is_long = whole[start:], False
        if b"{" in whole:
            yield from self._lines(whole)
        else:
            self.keep(whole)
        if len(self._rest) > LONGEST_LINE:
            if not self._is_long:
                self._note_unreadable(_visible(self._rest), _TOO_LONG)
            self.keep(self._rest)
            self._rest, self._is_long = b"", True

    def keep(self, data: bytes) -> None:
        """Keep data that is not a report."""
        self._kept += data
        if len(self._kept) > 2 * MOST_OUTPUT:
            del self._kept[:-MOST_OUTPUT]

    def end(self) -> Iterator[dict[str, object]]:
        """Process the last line, which may lack a line break."""
        if self._rest:
            yield from self.feed(b"\n")

    def _lines(self, whole: bytes) -> Iterator[dict[str, object]]:
        for line in whole[:-1].split(b"\n"):
            report = self._report(_visible(line))
            if report is None:
                self.keep(line + b"\n")
            else:
                yield report

    def _report(self, line: bytes) -> dict[str, object] | None:
        """Parse a report; return None for other lines and for repeated reports."""
        if line[:1] != b"{":
            return None
        if len(line) > LONGEST_LINE:
            self._note_unreadable(line, _TOO_LONG)
            return None
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            self._note_unreadable(line, "is not a complete JSON object")
            return None
        vm, status, detail = (
            message.get("vm"),
            str(message.get("status")).lower(),
            message.get("detail"),
        )
        name = self._names.get(vm.lower()) if isinstance(vm, str) else None
        if name is None or status not in ("done", "failed"):
            wrong = "names an unknown VM" if name is None else _STATUS
            is_report = {"vm", "status"} <= message.keys()
            self._note_unreadable(line, wrong, is_report=is_report)
            return None
        failed = status == "failed"
        if {(name, False), (name, failed)} & self._reported:
            return None
        self._reported.add((name, failed))
        text = "" if detail is None else _clean(str(detail)).strip()
        return {"vm": name, "failed": failed, "detail": text[:LONGEST_DETAIL]}

    def _note_unreadable(
        self, line: bytes, wrong: str, *, is_report: bool = False
    ) -> None:
        """Note the problem with `line` if the line looks like a report."""
        if self.unreadable or not (is_report or _LIKE_A_REPORT.match(line)):
            return
        begin = _clean(line[:_MOST_QUOTED].decode(errors="replace"))
        self.unreadable = f"a report from the script {wrong}: {begin}"


def _visible(line: bytes) -> bytes:
    """Remove invisible bytes before a line and after its last brace."""
    match = _INVISIBLE.match(line)
    line = line[match.end() :] if match else line
    end = line.rfind(b"}") + 1
    return line[:end] if _INVISIBLE.fullmatch(line, end) else line


def _clean(text: str) -> str:
    """Remove characters that could harm a terminal or a database."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").translate(_CONTROLS)
    return lines.encode(errors="replace").decode()
