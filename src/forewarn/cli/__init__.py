"""The command line: one module for each noun, each of which registers itself.

Exit codes: 0 done, 1 refused or failed, 2 wrong usage; 130 after Ctrl-C and 141 when
nobody reads the output any more, as shells have it. A person never sees a traceback.
"""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import PurePath
from traceback import extract_tb

from forewarn import __version__
from forewarn.cli import options
from forewarn.cli.tables import complain, drop_output
from forewarn.errors import FaultyFile, ForewarnError, WrongUsage

#: In the order in which one needs them.
COMMANDS = (
    "serve",
    "fleet",
    "announce",
    "vm",
    "host",
    "events",
    "journal",
    "report",
    "notify",
    "clock",
    "health",
    "faults",
    "token",
    "portal",
    "watch",
    "approve",
    "agent",
    "rehearse",
    "record",
    "replay",
)

#: Those that run a program: what follows `--` is its own.
_RUN_A_PROGRAM = ("rehearse",)


def main(argv: Sequence[str] | None = None) -> int:
    """Carry out one command; answer the exit code."""
    words = [*sys.argv[1:]] if argv is None else [*argv]
    _open_what_is_closed()
    try:
        code = _run(words)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        drop_output()
        return 141
    except WrongUsage as error:
        complain(str(error))
        return 2
    except ForewarnError as error:
        _complain_of(error)
        return 1
    except OSError as error:
        drop_output()
        complain(str(error))
        return 1
    except Exception as error:  # the top of the thread
        complain(_bug(error))
        return 1
    return code


def _run(words: Sequence[str]) -> int:
    try:
        args = parse(words)
    except SystemExit as done:  # argparse has said why
        return done.code if isinstance(done.code, int) else 1
    code: int = args.run(args)
    return code


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Read a command line and the environment; `SystemExit` if that is impossible."""
    own, program = _split(words)
    args = parser(own).parse_args(own)
    args.program = program
    options.settle(args)
    return args


def _split(words: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Part our own words from those of a program that is to be run."""
    if words[:1] and words[0] in _RUN_A_PROGRAM and "--" in words:
        cut = words.index("--")
        return words[:cut], words[cut + 1 :]
    return words, ()


def parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """Build the parser, with no more than `words` ask for."""
    made = argparse.ArgumentParser(
        prog="forewarn",
        description="Give every machine in a fleet fair warning before it is touched.",
        epilog="Every option can also be given in the environment: --url as"
        " FOREWARN_URL. `forewarn COMMAND --help` says more.",
        allow_abbrev=False,
    )
    made.add_argument("--version", action="version", version=f"forewarn {__version__}")
    subcommands = made.add_subparsers(
        title="commands", metavar="COMMAND", dest="command", required=True
    )
    for name in _asked_for(words):
        import_module(f"forewarn.cli.{name}").register(subcommands)
    return made


def _asked_for(words: Sequence[str]) -> Sequence[str]:
    """Choose the commands worth importing."""
    first = words[0] if words else ""
    if first == "--version":
        return ()
    return [first] if first in COMMANDS else COMMANDS


def _open_what_is_closed() -> None:
    """Fill the places of streams that the caller has closed.

    Else the first file or socket to be opened would get the number of one of them.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115  # for good


def _complain_of(error: ForewarnError) -> None:
    """Say what is wrong; each of the things wrong with a file on its own line."""
    is_list = isinstance(error, FaultyFile)
    for sentence in str(error).splitlines() if is_list else [str(error)]:
        complain(sentence)


def _bug(error: Exception) -> str:
    where = extract_tb(error.__traceback__)[-1]
    place = f"{PurePath(where.filename).name}:{where.lineno}"
    return (
        f"this should not have happened, please report it: {type(error).__name__}:"
        f" {error} ({place}, version {__version__})"
    )
