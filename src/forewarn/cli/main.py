"""The command line, with one module per command that registers the command.

Exit codes: 0 for success, 1 for refused or failed commands, 2 for usage errors, and 3
for a wait that timed out. As in shells, 130 means Ctrl-C and 141 means a broken pipe.
Users never see a traceback.
"""

import argparse
import errno
import os
import sys
import time
from collections.abc import Collection, Mapping, Sequence
from functools import partial
from importlib import import_module
from pathlib import PurePath
from traceback import extract_tb

from forewarn import __version__
from forewarn.cli import options
from forewarn.cli.options import CommandParser
from forewarn.cli.output import (
    drop_output,
    end_with_reader,
    paragraph,
    watch_output,
    write,
    write_error,
)
from forewarn.errors import CannotStart, FaultyFile, ForewarnError, TimedOut, WrongUsage
from forewarn.formats import is_utf8

#: Commands by audience, with the packages of their modules, as in `--help`.
AUDIENCES: Mapping[str, Mapping[str, str]] = {
    "operate a fleet": {
        "announce": "operate",
        "maintenance": "operate",
        "events": "operate",
        "vm": "operate",
        "host": "operate",
        "fleet": "operate",
    },
    "find out what happened": {
        "doctor": "setup",
        "journal": "operate",
        "report": "operate",
        "portal": "service",
    },
    "inside a VM": {
        "watch": "guest",
        "approve": "guest",
        "agent": "guest",
        "record": "guest",
    },
    "test a program": {
        "rehearse": "rehearse",
        "replay": "rehearse",
        "faults": "service",
        "clock": "service",
    },
    "run the service": {
        "serve": "service",
        "health": "service",
        "token": "service",
        "notify": "service",
        "store": "service",
    },
    "set up the command line": {
        "context": "setup",
        "completion": "setup",
    },
}

#: Commands and the packages of their modules.
COMMANDS: Mapping[str, str] = {
    name: package
    for packages in AUDIENCES.values()
    for name, package in packages.items()
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

#: Options that were renamed, in all commands or in the one named before the option.
_RENAMED_FLAGS: Mapping[str, str] = {
    "--ignore-gates": "--ignore-blockers",
    "--preview": "--dry-run",
    "--tape": "--recording",
    "faults --for": "--duration",
}

#: Commands on maintenance operations that used to be subcommands of `events`.
_MOVED_FROM_EVENTS = ("explain", "cancel", "complete", "retry", "close")

_NOT_UTF8 = "an argument contains bytes that are not valid UTF-8"

_EXIT_CODES: Mapping[type[ForewarnError], int] = {WrongUsage: 2, TimedOut: 3}

_EPILOG = """\
For a command's options, run `forewarn COMMAND --help`. For the options that
most commands share, run `forewarn help options`. To complete commands and
names with the Tab key, see `forewarn completion --help`."""

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
    except ForewarnError as error:
        _write_errors(error)
        return _EXIT_CODES.get(type(error), 1)
    except OSError as error:
        drop_output()
        write_error(_explain(error) or _reason(error))
        return 1
    except UnicodeEncodeError as error:
        is_input = not all(map(is_utf8, words))
        write_error(_NOT_UTF8 if is_input else _bug(error))
        return 2 if is_input else 1
    except Exception as error:  # last resort: report a bug without a traceback
        write_error(_explain(error) or _bug(error))
        return 1
    return code


def _run(words: Sequence[str]) -> int:
    if words[:1] == [options.COMPLETE]:
        from forewarn.cli.setup import names  # only here, to start fast

        return names.run(words[1:])
    words = _expand(words)
    _refuse_linux_command(words)
    try:
        _refuse_unknown_command(words)
        args = parse(words)
    except SystemExit as done:  # argparse has printed the reason
        return done.code if isinstance(done.code, int) else 1
    if args.noun is not None:
        write(args.noun.format_help().rstrip("\n"))
        return 0
    is_watched = getattr(args, "watch", None)
    if is_watched or getattr(args, "follow", None) or args.command == "watch":
        end_with_reader(sys.stdout)
    if is_watched:
        return watch_output(partial(args.run, args))
    code: int = args.run(args)
    return code


def _expand(words: Sequence[str]) -> Sequence[str]:
    """Replace the short forms `help COMMAND`, `version` and aliases of commands."""
    first, *rest = words or ["help"]
    if first == "help" and rest != ["options"]:
        return [*_expand(rest), "--help"] if rest else ["--help"]
    if first == "version":
        return ["--version"]
    return [options.ALIASES.get(first, first), *rest]


def _refuse_unknown_command(words: Sequence[str]) -> None:
    """Raise `WrongUsage` for a former command, and exit with code 2 for an unknown one.

    No command is imported.
    """
    first, second = [*words, "", ""][:2]
    if first == "events" and second in _MOVED_FROM_EVENTS:
        raise WrongUsage(
            f"`forewarn events {second}` is now called `forewarn maintenance {second}`"
        )
    if not first.startswith("-") and first not in (*COMMANDS, "help"):
        CommandParser(prog="forewarn").error(
            options.unknown_command(first, [*COMMANDS])
        )


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
        command, _, flag = old.rpartition(" ")
        if command in ("", *own[:1]) and any(w.partition("=")[0] == flag for w in own):
            raise WrongUsage(f"unknown option {flag}; it is now called {new}")
    args = parser(own).parse_args(own)
    args.program = program
    if args.noun is None:
        options.apply_environment(args)
    return args


def _split(words: Sequence[str]) -> tuple[Sequence[str], Sequence[str]]:
    """Separate forewarn's own arguments from the arguments of the program to run."""
    if words[:1] and words[0] in _PROGRAM_COMMANDS and "--" in words:
        cut = words.index("--")
        return words[:cut], words[cut + 1 :]
    return words, ()


def parser(words: Sequence[str]) -> CommandParser:
    """Build the parser, importing only the commands needed for `words`."""
    top = CommandParser(
        prog="forewarn",
        description="Run Azure Scheduled Events on your own machines: for tests, CI or"
        " a VM fleet.",
        epilog=_EPILOG,
        formatter_class=partial(options.CommandHelp, groups=AUDIENCES),
        allow_abbrev=False,
    )
    top.add_argument(
        "--version",
        action="version",
        version=f"forewarn {__version__}",
        help="show the version and exit",
    )
    top.set_defaults(noun=top)
    subcommands = top.add_subparsers(
        title=argparse.SUPPRESS,
        metavar="COMMAND",
        dest="command",
        parser_class=CommandParser,
    )
    for name in _needed_commands(words):
        import_module(f"forewarn.cli.{COMMANDS[name]}.{name}").register(subcommands)
    _register_help(subcommands)
    return top


def _register_help(subcommands: options.Subcommands) -> None:
    """Add `help options`, which describes the options that many commands share."""
    help_parser = subcommands.add_parser("help", add_help=False)
    help_parser.add_argument("topic", choices=["options"])
    help_parser.set_defaults(run=_show_options, noun=None, options=())


def _show_options(args: argparse.Namespace) -> int:
    del args
    write("Options that most commands share:\n")
    for option in (*options.SERVICE, *options.output_options(options.FORMATS)):
        flags = ", ".join(filter(None, (option.short, option.flag)))
        write(f"  {flags} {option.metavar or ''}".rstrip())
        write(paragraph(f"      {options.help_of(option)}", 6))
    return 0


def _needed_commands(words: Sequence[str]) -> Collection[str]:
    first = words[0] if words else ""
    if first in ("--version", "help"):
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


def _reason(error: OSError) -> str:
    """Return why the operating system refused something, without an error number."""
    why = (error.strerror or str(error)).lower()
    return f"{error.filename}: {why}" if error.filename else why


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
