"""The command line, with one module per command that registers the command.

Exit codes: 0 for success, 1 for refused or failed commands, and 2 for usage errors. As
in shells, 130 means Ctrl-C and 141 means a broken pipe. Users never see a traceback.
"""

import argparse
import errno
import os
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from importlib import import_module
from pathlib import PurePath
from traceback import extract_tb

from forewarn import __version__
from forewarn.cli import options
from forewarn.cli.output import drop_output, write_error
from forewarn.errors import CannotStart, FaultyFile, ForewarnError, WrongUsage

#: Commands and the packages of their modules. Commands are in the order in which new
#: users need them, as in `--help`.
COMMANDS: Mapping[str, str] = {
    "serve": "service",
    "fleet": "operate",
    "announce": "operate",
    "vm": "operate",
    "host": "operate",
    "events": "operate",
    "journal": "operate",
    "report": "operate",
    "notify": "service",
    "clock": "service",
    "health": "service",
    "faults": "service",
    "token": "service",
    "portal": "service",
    "store": "service",
    "watch": "guest",
    "approve": "guest",
    "agent": "guest",
    "rehearse": "rehearse",
    "record": "guest",
    "replay": "rehearse",
}

#: Commands that do not run on Windows, and their alternatives.
LINUX_COMMANDS: Mapping[str, str] = {
    "serve": "run the service on a Linux machine",
    "store": "run it on the Linux machine where the store is",
    "agent": "use `forewarn watch`, `forewarn approve` or the Python client instead",
    "rehearse": "rehearse on a Linux machine, or in WSL",
    "replay": "replay on a Linux machine, or in WSL",
}
_WINDOWS_PAGE = "docs/how-to/scheduled-events-in-a-windows-vm.md"

#: Commands that run a program; the words after `--` belong to that program.
_PROGRAM_COMMANDS = ("rehearse",)

_RENAMED_FLAGS: Mapping[str, str] = {
    "--ignore-gates": "--ignore-blockers",
    "--tape": "--recording",
}

#: Phrases in the errors that libraries raise if memory allocation fails.
_SIGNS_OF_LITTLE_MEMORY = (
    "cannot allocate memory",
    "failed to map segment",
    "out of memory",
)


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    words = [*sys.argv[1:]] if argv is None else [*argv]
    _open_closed_streams()
    try:
        code = _run(words)
        sys.stdout.flush()
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        drop_output()
        return 141
    except WrongUsage as error:
        write_error(str(error))
        return 2
    except ForewarnError as error:
        _write_errors(error)
        return 1
    except OSError as error:
        drop_output()
        write_error(_explain(error) or str(error))
        return 1
    except Exception as error:  # last resort: report a bug without a traceback
        write_error(_explain(error) or _bug(error))
        return 1
    return code


def _run(words: Sequence[str]) -> int:
    _refuse_linux_command(words)
    try:
        args = parse(words)
    except SystemExit as done:  # argparse has printed the reason
        return done.code if isinstance(done.code, int) else 1
    code: int = args.run(args)
    return code


def _refuse_linux_command(words: Sequence[str]) -> None:
    """On Windows, raise `CannotStart` before importing modules that need Linux."""
    name = words[0] if words else ""
    if _is_windows() and name in LINUX_COMMANDS:
        raise CannotStart(
            f"`forewarn {name}` does not run on Windows: {LINUX_COMMANDS[name]}."
            f" {_WINDOWS_PAGE} lists what runs in a Windows VM"
        )


def _is_windows() -> bool:
    return sys.platform == "win32"


def parse(words: Sequence[str]) -> argparse.Namespace:
    """Parse the command line and environment; raise `SystemExit` on invalid input."""
    own, program = _split(words)
    for old, new in _RENAMED_FLAGS.items():
        if any(word.partition("=")[0] == old for word in own):
            raise WrongUsage(f"unknown option {old}; it is now called {new}")
    args = parser(own).parse_args(own)
    args.program = program
    _refuse_renamed_variables(args)
    options.apply_environment(args)
    return args


def _refuse_renamed_variables(args: argparse.Namespace) -> None:
    """Raise `WrongUsage` if the environment uses an option's old name."""
    known = {
        option.flag for several in getattr(args, "options", ()) for option in several
    }
    for old, new in _RENAMED_FLAGS.items():
        variable = options.variable_of(old)
        if new in known and os.environ.get(variable):
            raise WrongUsage(
                f"unknown variable ${variable}; it is now called"
                f" ${options.variable_of(new)}"
            )


def _split(words: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Separate forewarn's own arguments from the arguments of the program to run."""
    if words[:1] and words[0] in _PROGRAM_COMMANDS and "--" in words:
        cut = words.index("--")
        return words[:cut], words[cut + 1 :]
    return words, ()


def parser(words: Sequence[str]) -> argparse.ArgumentParser:
    """Build the parser, importing only the commands needed for `words`."""
    top = argparse.ArgumentParser(
        prog="forewarn",
        description="Run Azure Scheduled Events on your own machines: for testing, CI"
        " or your VM fleet.",
        epilog="Every option can also be set with an environment variable; for example,"
        " FOREWARN_URL sets --url. Run `forewarn COMMAND --help` for a command's"
        " options.",
        allow_abbrev=False,
    )
    top.add_argument("--version", action="version", version=f"forewarn {__version__}")
    subcommands = top.add_subparsers(
        title="commands", metavar="COMMAND", dest="command", required=True
    )
    for name in _needed_commands(words):
        import_module(f"forewarn.cli.{COMMANDS[name]}.{name}").register(subcommands)
    return top


def _needed_commands(words: Sequence[str]) -> Collection[str]:
    first = words[0] if words else ""
    if first == "--version":
        return ()
    if first in COMMANDS:
        return [first]
    if _is_windows():
        return [name for name in COMMANDS if name not in LINUX_COMMANDS]
    return COMMANDS


def _open_closed_streams() -> None:
    """Open `os.devnull` for each standard stream that the caller has closed.

    Otherwise, the first file or socket to be opened would get the file descriptor of
    a standard stream.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, open(os.devnull, mode))  # noqa: SIM115  # stays open


def _write_errors(error: ForewarnError) -> None:
    """Print an error, with each problem in an invalid file on a separate line."""
    is_list = isinstance(error, FaultyFile)
    for sentence in str(error).splitlines() if is_list else [str(error)]:
        write_error(sentence)


def _explain(error: Exception) -> str | None:
    """Return an explanation if the machine caused the error; otherwise, return None."""
    text = str(error)
    if isinstance(error, OverflowError) and not _is_clock_readable():
        return (
            "the system clock is set to a time after the year 2262, which Python cannot"
            " handle; correct the clock"
        )
    if "start new thread" in text:
        return (
            "cannot start another thread: memory is low, or too many threads are"
            " running; raise the limit (`ulimit -u`, TasksMax= in systemd)"
        )
    if getattr(error, "errno", None) in (errno.EMFILE, errno.ENFILE):
        return f"{text}: raise the limit on open files (`ulimit -n`)"
    is_short = isinstance(error, MemoryError | SystemError) or any(
        sign in text.lower() for sign in _SIGNS_OF_LITTLE_MEMORY
    )
    if is_short:
        return (
            "out of memory: free some memory, or raise the limit (`ulimit -v`,"
            f" MemoryMax= in systemd) [{type(error).__name__}]"
        )
    return None


def _is_clock_readable() -> bool:
    try:
        time.time()  # noqa: TID251  # the value does not matter
    except OverflowError:
        return False
    return True


def _bug(error: Exception) -> str:
    where = extract_tb(error.__traceback__)[-1]
    location = f"{PurePath(where.filename).name}:{where.lineno}"
    return (
        f"internal error; please report it: {type(error).__name__}: {error}"
        f" ({location}, version {__version__})"
    )
