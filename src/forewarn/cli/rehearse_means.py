"""Terminal, output files and signal handling shared by all rehearsals."""

import argparse
import logging
import signal
import sys
from collections.abc import Iterable
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import IO, NoReturn

from forewarn.cli.rehearse_progress import Screen, Silence, screen_on
from forewarn.errors import CannotStart, Unavailable


def screen_of(args: argparse.Namespace, steps: int) -> Screen:
    """Return a progress display; with --quiet, one that shows nothing."""
    return Silence() if args.quiet else screen_on(sys.stderr, steps)


def needs_extra(error: ImportError) -> CannotStart:
    """Return the error for a missing server extra."""
    return CannotStart(
        f"a rehearsal needs the server extra ({error.name} is missing):"
        " pip install 'forewarn[server]'"
    )


def open_for(name: str | None, cleanup: ExitStack) -> IO[str] | None:
    """Open the file `name` for writing; None if there is no name.

    The file is removed if nothing is written to it: CI systems reject empty reports.
    """
    if name is None:
        return None
    try:
        # "replace", since a scenario's file name may not be valid text.
        file = Path(name).open("w", encoding="utf-8", errors="replace")  # noqa: SIM115
    except OSError as error:
        raise CannotStart(f"{name} cannot be written: {error.strerror}") from error
    cleanup.callback(_remove_if_empty, Path(name))
    return cleanup.enter_context(file)


def _remove_if_empty(path: Path) -> None:
    with suppress(OSError):
        if path.is_file() and not path.stat().st_size:  # never a device
            path.unlink()


def put(file: IO[str] | None, lines: Iterable[str]) -> None:
    """Write `lines` to `file`, if there is one."""
    if file is None:
        return
    try:
        file.writelines(lines)
        file.flush()
    except OSError as error:
        with suppress(OSError):  # closing fails for the same reason
            file.close()
        raise Unavailable(f"{file.name} cannot be written: {error.strerror}") from error


def be_quiet() -> None:
    """Keep the service's log off the terminal; the verdict has what matters."""
    logging.getLogger("forewarn").addHandler(logging.NullHandler())


def end_on_signals() -> None:
    """Exit cleanly on SIGTERM and SIGHUP, so that the program is stopped as well."""

    def leave(number: int, frame: object) -> NoReturn:
        del frame
        raise SystemExit(128 + number)

    for signal_number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(signal_number) is not signal.SIG_IGN:
            signal.signal(signal_number, leave)
