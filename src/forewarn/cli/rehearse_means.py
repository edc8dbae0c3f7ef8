"""What every rehearsal needs: a screen, files to write, an end in order."""

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
    """Show progress, unless nobody wants to see it."""
    return Silence() if args.quiet else screen_on(sys.stderr, steps)


def needs_extra(error: ImportError) -> CannotStart:
    """Say what a rehearsal needs."""
    return CannotStart(
        f"a rehearsal needs the server extra ({error.name} is missing):"
        " pip install 'forewarn[server]'"
    )


def open_for(name: str | None, cleanup: ExitStack) -> IO[str] | None:
    """Open the file `name` to be written, if there is one.

    If nothing comes to be written, there is none: CI stumbles over an empty report.
    """
    if name is None:
        return None
    try:
        # Replaced: the name of a scenario's file may have bytes that are no text.
        file = Path(name).open("w", encoding="utf-8", errors="replace")  # noqa: SIM115
    except OSError as error:
        raise CannotStart(f"{name} cannot be written: {error.strerror}") from error
    cleanup.callback(_remove_if_empty, Path(name))
    return cleanup.enter_context(file)


def _remove_if_empty(path: Path) -> None:
    with suppress(OSError):
        if path.is_file() and not path.stat().st_size:  # a device is not ours
            path.unlink()


def put(file: IO[str] | None, lines: Iterable[str]) -> None:
    """Write `lines` into `file`, if there is one."""
    if file is None:
        return
    try:
        file.writelines(lines)
        file.flush()
    except OSError as error:
        with suppress(OSError):  # it would try again later, and say nothing useful
            file.close()
        raise Unavailable(f"{file.name} cannot be written: {error.strerror}") from error


def be_quiet() -> None:
    """Keep what the service logs off the terminal; the verdict tells what matters."""
    logging.getLogger("forewarn").addHandler(logging.NullHandler())


def end_on_signals() -> None:
    """Leave in order when told to end, so that the program is ended, too."""

    def leave(number: int, frame: object) -> NoReturn:
        del frame
        raise SystemExit(128 + number)

    for each in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(each) is not signal.SIG_IGN:
            signal.signal(each, leave)
