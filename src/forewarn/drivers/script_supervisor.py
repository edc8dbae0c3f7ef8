"""Reader of a script's output: reports, and everything else.

Uses only the standard library, like everything in the supervisor process.
"""

import json
import os
import select
import signal
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from typing import NamedTuple

from forewarn.processes import session_members, signal_session

MOST_OUTPUT = 64 * 1024  # bytes; the last ones are kept
LONGEST_LINE = 64 * 1024  # bytes; a longer line is not a report
LONGEST_DETAIL = 1000  # characters

_CONTROLS = dict.fromkeys({*range(32), *range(127, 160)} - {9, 10}, "\ufffd")


_CHUNK = 64 * 1024
_LAST_CHUNKS = 32  # more than a pipe holds
_ORPHANED = 2.0  # seconds for a script whose service is gone
_MOST_WATCHED = 32  # processes at a time; each needs a file descriptor
_AFTER_KILL = 1.0  # seconds until an unkillable process is abandoned


class OutputReader:
    """Separates reports from other output, and keeps the end of the latter."""

    def __init__(self, vms: Iterable[str]) -> None:
        """Accept reports about `vms`."""
        self._names = {name.lower(): name for name in vms}
        self._told: set[tuple[str, bool]] = set()  # VM, whether it failed
        self._rest = b""  # an incomplete line
        self._is_long = False  # whether that line is too long for a report
        self._kept = bytearray()

    @property
    def output(self) -> str:
        """The end of the output other than reports, as text."""
        return clean_output(bytes(self._kept[-MOST_OUTPUT:]).decode(errors="replace"))

    def hear(self, data: bytes) -> Iterator[dict[str, object]]:
        """Process data from stdout, and yield the reports in it."""
        block = self._rest + data
        end = block.rfind(b"\n") + 1
        whole, self._rest = block[:end], block[end:]
        if whole and self._is_long:
            start = whole.index(b"\n") + 1
            self.overhear(whole[:start])
            whole, self._is_long = whole[start:], False
        if b"{" in whole:
            yield from self._lines(whole)
        else:
            self.overhear(whole)
        if len(self._rest) > LONGEST_LINE:
            self.overhear(self._rest)
            self._rest, self._is_long = b"", True

    def overhear(self, data: bytes) -> None:
        """Keep data that is not a report."""
        self._kept += data
        if len(self._kept) > 2 * MOST_OUTPUT:
            del self._kept[:-MOST_OUTPUT]

    def end(self) -> Iterator[dict[str, object]]:
        """Process the last line, which may lack a line break."""
        if self._rest:
            yield from self.hear(b"\n")

    def _lines(self, whole: bytes) -> Iterator[dict[str, object]]:
        for line in whole[:-1].split(b"\n"):
            report = self._report(line.strip())
            if report is None:
                self.overhear(line + b"\n")
            else:
                yield report

    def _report(self, line: bytes) -> dict[str, object] | None:
        """Parse a report; None if it is not one, or repeats an earlier one."""
        if not (line[:1] == b"{" and line[-1:] == b"}" and len(line) <= LONGEST_LINE):
            return None
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            return None
        vm, status, detail = (
            message.get("vm"),
            message.get("status"),
            message.get("detail"),
        )
        name = self._names.get(vm.lower()) if isinstance(vm, str) else None
        if name is None or status not in ("done", "failed"):
            return None
        failed = status == "failed"
        if {(name, False), (name, failed)} & self._told:
            return None
        self._told.add((name, failed))
        text = "" if detail is None else clean_output(str(detail)).strip()
        return {"vm": name, "failed": failed, "detail": text[:LONGEST_DETAIL]}


def clean_output(text: str) -> str:
    """Remove what would harm a terminal or a database."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").translate(_CONTROLS)
    return lines.encode(errors="replace").decode()


class ScriptOrder(NamedTuple):
    """The command to supervise, and its limits."""

    command: Sequence[str]
    input: str
    vms: Sequence[str]
    timeout: float  # seconds; 0 for none
    grace: float  # seconds between TERM and KILL


class ScriptSupervisor:
    """One script, from its start to the end of its last process."""

    def __init__(self, order: ScriptOrder) -> None:
        """Supervise the command in `order`."""
        self._order = order
        self._session = os.getpid()
        self._ear = OutputReader(order.vms)
        self._input = order.input.encode()
        self._deadline: float | None = None  # None if it has no time limit
        self._kill_at: float | None = None  # None if it was not asked to end
        self._give_up_at: float | None = None  # None if it was not killed
        self._is_late = self._is_halted = False
        self._has_ended = self._is_over = False
        self._watched: set[int] = set()  # pidfds of the session's processes
        self._to_say = b""
        self._poll = select.poll()
        self._then: dict[int, Callable[[int], None]] = {}

    def attend(self, told: bytes = b"") -> None:
        """Run the script, and return when its whole session has ended.

        `told` is the input already read after the order.
        """
        self._start()
        try:
            self._prepare()
            self._heed(told)
            while not self._is_over:
                for descriptor, _ in self._poll.poll(self._patience()):
                    if descriptor in self._then:
                        self._then[descriptor](descriptor)
                self._look_at_the_clock()
        finally:
            signal_session(self._session, signal.SIGKILL)
        self._hear_the_rest()
        self._say(self._last_words())
        os.set_blocking(1, True)
        while self._to_say:
            self._speak(1)

    def _start(self) -> None:
        its_input, self._stdin = os.pipe()
        self._stdout, its_output = os.pipe()
        self._stderr, its_errors = os.pipe()
        self._script = subprocess.Popen(
            self._order.command,
            stdin=its_input,
            stdout=its_output,
            stderr=its_errors,
            process_group=0,
        )
        for descriptor in (its_input, its_output, its_errors):
            os.close(descriptor)

    def _prepare(self) -> None:
        if self._order.timeout:
            self._deadline = time.monotonic() + self._order.timeout
        for descriptor in (1, self._stdin, self._stdout, self._stderr):
            os.set_blocking(descriptor, False)
        self._watch(self._script.pid)
        self._await(0, select.POLLIN, self._obey)
        self._await(self._stdin, select.POLLOUT, self._feed)
        self._await(self._stdout, select.POLLIN, self._hear)
        self._await(self._stderr, select.POLLIN, self._overhear)

    def _await(self, descriptor: int, event: int, then: Callable[[int], None]) -> None:
        self._poll.register(descriptor, event)
        self._then[descriptor] = then

    def _leave(self, descriptor: int) -> None:
        self._poll.unregister(descriptor)
        del self._then[descriptor]
        if descriptor != 1:
            os.close(descriptor)

    # --- processes -----------------------------------------------------------

    def _watch(self, pid: int) -> None:
        with suppress(ProcessLookupError):
            descriptor = os.pidfd_open(pid)
            self._watched.add(descriptor)
            self._await(descriptor, select.POLLIN, self._miss)

    def _miss(self, descriptor: int) -> None:
        """Handle the end of a process; after the last one, look for others."""
        self._has_ended = True
        self._leave(descriptor)
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
        """Ask the script to end; a later call may shorten its time."""
        if self._give_up_at is not None:
            return
        at = time.monotonic() + grace
        if self._kill_at is None:
            signal_session(self._session, signal.SIGTERM)
        self._kill_at = at if self._kill_at is None else min(at, self._kill_at)

    def _look_at_the_clock(self) -> None:
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

    def _patience(self) -> float | None:
        """Return the milliseconds to the next deadline; None if there is none."""
        last = self._give_up_at or self._kill_at
        times = [moment for moment in (self._deadline, last) if moment is not None]
        if not times:
            return None
        return max(min(times) - time.monotonic(), 0.0) * 1000 + 1

    # --- input and output ----------------------------------------------------

    def _obey(self, descriptor: int) -> None:
        data = os.read(descriptor, _CHUNK)
        self._heed(data)
        if not data:
            self._leave(descriptor)
            self._end(_ORPHANED)

    def _heed(self, told: bytes) -> None:
        for seconds in told.split():
            self._is_halted = self._is_halted or not self._has_ended
            self._end(float(seconds))

    def _feed(self, descriptor: int) -> None:
        try:
            self._input = self._input[os.write(descriptor, self._input) :]
        except BlockingIOError:
            return
        except OSError:  # the script does not read its input
            self._input = b""
        if not self._input:
            self._leave(descriptor)

    def _hear(self, descriptor: int) -> None:
        data = os.read(descriptor, _CHUNK)
        for report in self._ear.hear(data):
            self._say(report)
        if not data:
            self._leave(descriptor)

    def _overhear(self, descriptor: int) -> None:
        data = os.read(descriptor, _CHUNK)
        self._ear.overhear(data)
        if not data:
            self._leave(descriptor)

    def _hear_the_rest(self) -> None:
        """Read what is left in the pipes, but not forever if they stay open."""
        for descriptor in (self._stdout, self._stderr):
            with suppress(BlockingIOError):
                for _ in range(_LAST_CHUNKS):
                    if descriptor in self._then:
                        self._then[descriptor](descriptor)
        for report in self._ear.end():
            self._say(report)

    def _last_words(self) -> Mapping[str, object]:
        code = self._script.poll()  # None if not even KILL has ended it
        return {
            "output": self._ear.output,
            "code": code,
            "is_late": self._is_late,
            "is_halted": self._is_halted,
        }

    def _say(self, message: Mapping[str, object]) -> None:
        self._to_say += json.dumps(message).encode() + b"\n"
        if 1 not in self._then:
            self._await(1, select.POLLOUT, self._speak)

    def _speak(self, descriptor: int) -> None:
        try:
            self._to_say = self._to_say[os.write(descriptor, self._to_say) :]
        except BlockingIOError:
            return
        except OSError:  # nobody reads the output
            self._to_say = b""
        if not self._to_say and descriptor in self._then:
            self._leave(descriptor)


def _is_past(moment: float | None, now: float) -> bool:
    return moment is not None and now >= moment


def main() -> None:
    """Supervise the order in the first line of the input."""
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
        ScriptSupervisor(ScriptOrder(**json.loads(order))).attend(rest)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        message = {"error": f"the command cannot be started: {why}"}
        os.write(1, json.dumps(message).encode() + b"\n")
