"""Terminal handling for rehearsals: progress, result files, logs and clean exits."""

import argparse
import logging
import signal
import sys
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, NoReturn

from forewarn.cli.output import write
from forewarn.cli.progress import ProgressLine
from forewarn.errors import CannotStart, Unavailable
from forewarn.formats import clean

if TYPE_CHECKING:
    from forewarn.testing.scenario.results import StepResult


# --- progress ----------------------------------------------------------------


class ProgressScreen:
    """The base class of progress displays, which shows nothing itself."""

    def begin(self, number: int, what: str) -> None:
        """Show that a step is starting."""

    def end(self, result: "StepResult") -> None:
        """Show the result of a step."""

    def close(self) -> None:
        """End the display."""


def screen_of(args: argparse.Namespace, steps: int) -> ProgressScreen:
    """Return a progress display; with --quiet, it shows nothing."""
    return ProgressScreen() if args.quiet else screen_on(sys.stderr, steps)


def screen_on(stream: IO[str], steps: int) -> ProgressScreen:
    """Return a display for `stream`: a live line on a terminal, otherwise a log."""
    kind = _ProgressLive if stream.isatty() else _ProgressLog
    return kind(stream, steps)


class _ProgressLog(ProgressScreen):
    """Writes a line when a step has finished, unless the step was not reached."""

    def __init__(self, stream: IO[str], steps: int) -> None:
        self._stream = stream
        self._steps = steps

    def end(self, result: "StepResult") -> None:
        if result.number is not None and result.verdict != "not reached":
            where = f"step {result.number} of {self._steps}"
            self._stream.write(f"{where}: {result.verdict}: {clean(result.what)}\n")
            self._stream.flush()


class _ProgressLive(ProgressScreen):
    """A live line that shows the current step and how many have finished."""

    def __init__(self, stream: IO[str], steps: int) -> None:
        self._line = ProgressLine(stream, "starting", steps, delay=0)

    def begin(self, number: int, what: str) -> None:
        self._line.update(what, done=max(number - 1, 0))

    def close(self) -> None:
        self._line.close()


# --- result files ------------------------------------------------------------


def open_result_file(name: str | None, cleanup: ExitStack) -> IO[str] | None:
    """Open the file `name` for writing; return None if there is no name.

    The file is removed if nothing is written to it, because CI systems reject empty
    reports.
    """
    if name is None:
        return None
    try:
        # "replace", because a scenario's file name may not be valid text.
        file = Path(name).open("w", encoding="utf-8", errors="replace")  # noqa: SIM115
    except OSError as error:
        raise CannotStart(f"cannot write {name}: {error.strerror}") from error
    cleanup.callback(_remove_if_empty, Path(name))
    return cleanup.enter_context(file)


def write_lines(file: IO[str] | None, lines: Iterable[str]) -> None:
    """Write `lines` to `file`, if there is one."""
    if file is None:
        return
    try:
        file.writelines(lines)
        file.flush()
    except OSError as error:
        with suppress(OSError):  # closing fails for the same reason
            file.close()
        raise Unavailable(f"cannot write {file.name}: {error.strerror}") from error


def _remove_if_empty(path: Path) -> None:
    with suppress(OSError):
        if path.is_file() and not path.stat().st_size:  # never a device
            path.unlink()


# --- results -----------------------------------------------------------------


def write_part(title: str, lines: Sequence[str]) -> None:
    """Print `lines` below a title, and an empty line, if there are any."""
    if lines:
        write(f"{title}:")
        for line in lines:
            write(f"  {clean(line)}".rstrip())
        write("")


# --- start and end -----------------------------------------------------------


def prepare_process() -> None:
    """Hide the service's log and exit cleanly on SIGTERM and SIGHUP.

    The verdict contains the relevant parts of the log. A clean exit also stops the
    program.
    """
    logging.getLogger("forewarn").addHandler(logging.NullHandler())

    def leave(number: int, frame: object) -> NoReturn:
        del frame
        raise SystemExit(128 + number)

    for signal_number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(signal_number) is not signal.SIG_IGN:
            signal.signal(signal_number, leave)
