"""Command-line options, and the parser that reports usage errors in two lines.

1. Only settings of the connection and of the output can also come from the
   environment. No variable ever chooses what a command acts on.
2. The command line takes precedence over the environment, and the environment over
   the context. An empty variable counts as unset.
3. An unset option without a default is None.
4. An invalid value from either source causes a one-sentence error message and exit
   code 2.
"""

import argparse
import os
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from itertools import chain
from textwrap import fill
from typing import NoReturn, TypeAlias

from forewarn.cli.values import one_of, read_url
from forewarn.errors import WrongUsage
from forewarn.formats import join_names

Subcommands: TypeAlias = "argparse._SubParsersAction[CommandParser]"
Run: TypeAlias = Callable[[argparse.Namespace], int]

#: Short forms of commands and the commands that they stand for.
ALIASES = {"mnt": "maintenance", "ev": "events", "ls": "list", "rm": "remove"}

#: The hidden command that the completion scripts call.
COMPLETE = "__complete"

_WIDTH = 80  # columns of help texts
_NAME_WIDTH = 14  # columns for the name of a command
_SEE_OPTIONS = "see `forewarn help options`"


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option of a command."""

    flag: str
    help: str
    metavar: str | None = None
    read: Callable[[str], object] = str
    switch: bool = False  # takes no value
    repeated: bool = False  # may be repeated; a value may be a list with commas
    default: object = None
    shown_default: str | None = None  # in the help text; None to show `default`, if any
    variable: str | None = None  # environment variable; None if there is none
    short: str | None = None  # for example -o; None if there is no short form
    names: str | None = None  # what the shell completes: vms, hosts, files, ...

    @property
    def name(self) -> str:
        """The name of the attribute that contains the parsed value."""
        return self.flag.lstrip("-").replace("-", "_")

    def from_environment(self) -> object:
        """Read the value from the environment, or None if there is none."""
        text = os.environ.get(self.variable) if self.variable else None
        if not text:
            return None
        try:
            return self.read(text)
        except argparse.ArgumentTypeError as error:
            raise WrongUsage(f"${self.variable}: {error}") from error


#: Formats of a response. The first is for people, and commands call it text or table.
FORMATS = ("table", "wide", "json", "yaml", "name")

JSON = Option(flag="--json", switch=True, help="print JSON")
YES = Option(flag="--yes", short="-y", switch=True, help="skip the confirmation prompt")
DRY_RUN = Option(
    flag="--dry-run", switch=True, help="show what would happen, but change nothing"
)
WATCH = Option(
    flag="--watch",
    short="-w",
    switch=True,
    help="keep the output up to date until you press Ctrl-C",
)

#: Options for connecting to the service, common to all operator commands.
SERVICE = (
    Option(
        flag="--context",
        metavar="NAME",
        variable="FOREWARN_CONTEXT",
        names="contexts",
        help="service to use, from `forewarn context list`",
        shown_default="the current context, or the local service",
    ),
    Option(
        flag="--url",
        metavar="URL",
        read=read_url,
        variable="FOREWARN_URL",
        help="address of the control API",
        shown_default="the context's, or the local service's",
    ),
    Option(
        flag="--token",
        metavar="TOKEN",
        variable="FOREWARN_TOKEN",
        help="API token; setting it in the environment or a context is safer",
        shown_default="the context's, or the `token` file in the state directory",
    ),
    Option(
        flag="--ca",
        metavar="FILE",
        variable="FOREWARN_CA",
        names="files",
        help="CA certificate (PEM) used to verify the service's certificate",
        shown_default="the system's trusted CAs",
    ),
)

NO_HEADERS = Option(
    flag="--no-headers", switch=True, help="omit the headings of tables"
)


def output_options(formats: Sequence[str]) -> tuple[Option, ...]:
    """Return the output options of a command that supports `formats`."""
    output = Option(
        flag="--output",
        short="-o",
        metavar="|".join(formats),
        read=one_of(*formats),
        variable="FOREWARN_OUTPUT",
        help="format of the output",
        shown_default=formats[0],
    )
    headers = (NO_HEADERS,) if "wide" in formats else ()
    return (output, JSON, *headers)


# --- the parser --------------------------------------------------------------


class CommandParser(argparse.ArgumentParser):
    """A parser that suggests similar words and prints usage errors in two lines."""

    #: Whether help texts describe common options, as generated pages do.
    shows_common = False
    audience = ""  # the heading for this command in `forewarn --help`

    def error(self, message: str) -> NoReturn:
        """Print the error and how to get help, and exit with code 2."""
        sys.stderr.write(
            f"{self.prog}: {_plain_error(message)}\nFor help, run: {self.prog} --help\n"
        )
        self.exit(2)

    def parse_known_args(  # type: ignore[override]  # never returns unknown arguments
        self,
        args: Sequence[str] | None = None,
        namespace: argparse.Namespace | None = None,
    ) -> tuple[argparse.Namespace, list[str]]:
        """Parse arguments; report unknown ones for this command, not its parent."""
        parsed, extra = super().parse_known_args(args, namespace)
        if extra:
            self.error(self._unknown(extra))
        return parsed, extra

    def _unknown(self, extra: Sequence[str]) -> str:
        word = next((text for text in extra if text.startswith("-")), None)
        if word is None:
            return f"unexpected argument {extra[0]!r}"
        flag = word.partition("=")[0]
        return f"unknown option {flag}{did_you_mean(flag, self._option_string_actions)}"

    def _check_value(self, action: argparse.Action, value: object) -> None:
        if isinstance(action, argparse._SubParsersAction) and isinstance(value, str):
            if value not in action.choices:
                raise argparse.ArgumentError(
                    None, unknown_command(value, [*action.choices])
                )
            return
        super()._check_value(action, value)

    def format_usage(self) -> str:
        """Return the usage line without the list of options."""
        self.usage = self._short_usage()
        return super().format_usage()

    def format_help(self) -> str:
        """Return the help text."""
        self.usage = self._short_usage()
        return super().format_help()

    def _short_usage(self) -> str:
        if self.usage is not None:
            return self.usage
        words = [_usage_word(action) for action in self._get_positional_actions()]
        is_noun = self.get_default("run") is None
        return " ".join([self.prog, *words, *([] if is_noun else ["[options]"])])


class CommandHelp(argparse.RawDescriptionHelpFormatter):
    """Lists each command on one line, in groups if there are any."""

    def __init__(
        self, prog: str, groups: Mapping[str, Collection[str]] | None = None
    ) -> None:
        """Initialize; `groups` are the names of commands by their heading."""
        super().__init__(prog)
        self._groups = groups

    def _format_action(self, action: argparse.Action) -> str:
        if not isinstance(action, argparse._SubParsersAction):
            return super()._format_action(action)
        summaries = {choice.dest: choice.help for choice in action._choices_actions}
        lines: list[str] = []
        for heading, names in (self._groups or {"": summaries}).items():
            lines += ["", f"{heading}:"] if heading else []
            lines += [
                f"  {name:{_NAME_WIDTH}}{summaries[name]}"
                for name in names
                if name in summaries
            ]
        return "\n".join([*lines, ""])


def _usage_word(action: argparse.Action) -> str:
    name = str(action.metavar or action.dest)
    endings = {"*": f"[{name}...]", "+": f"{name}...", "?": f"[{name}]"}
    optional = not action.required and action.nargs == argparse.PARSER
    return f"[{name}]" if optional else endings.get(str(action.nargs), name)


def _plain_error(message: str) -> str:
    """Reword argparse's messages in plain English."""
    required = "the following arguments are required: "
    if message.startswith(required):
        return f"missing {message.removeprefix(required)}"
    message = message.removeprefix("argument ")
    one_missing = "one of the arguments "
    if message.startswith(one_missing):
        flags = message.removeprefix(one_missing).removesuffix(" is required")
        return f"specify one of {', '.join(flags.split())}"
    return message.replace("expected one argument", "a value is missing").replace(
        "not allowed with argument", "cannot be used together with"
    )


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """Return a suggestion to append to an error message, or ""."""
    matches = get_close_matches(word.lower(), [*known], n=2, cutoff=0.6)
    return f"; did you mean {' or '.join(matches)}?" if matches else ""


def unknown_command(word: str, known: Sequence[str]) -> str:
    """Return an error message for an unknown command."""
    words = [name for name in known if name not in ALIASES]
    hint = did_you_mean(word, words)
    return f"unknown command {word!r}" + (
        hint or f"; expected one of: {join_names(words, 40)}"
    )


# --- commands and their options ----------------------------------------------


def add_noun(
    subcommands: Subcommands, name: str, *, summary: str, example: str
) -> Subcommands:
    """Add a command with subcommands; by itself, it prints its help."""
    sentence = f"{summary[0].upper()}{summary[1:]}."
    parser = _parser(subcommands, name, summary, sentence, example)
    parser.set_defaults(noun=parser)
    return parser.add_subparsers(
        title="commands",
        metavar="COMMAND",
        dest=f"{name}_command",
        required=False,
        parser_class=CommandParser,
    )


def add_command(
    subcommands: Subcommands,
    name: str,
    run: Run,
    *,
    summary: str,
    description: str,
    example: str,
    options: "Iterable[Option | tuple[Option, ...]]" = (),
    common: Iterable[Option] = SERVICE,
    formats: Sequence[str] = ("table", "json", "yaml"),
) -> CommandParser:
    """Add a command that calls `run` and prints a response in one of `formats`.

    If `options` contains a tuple, its options are mutually exclusive.
    """
    parser = _parser(subcommands, name, summary, description, example)
    parser.set_defaults(run=run, noun=None)
    for item in options:
        if isinstance(item, tuple):
            add_one_of(parser, *item)
        else:
            add(parser, item)
    connection = tuple(common)
    shared = (*connection, *output_options(formats)) if connection == SERVICE else ()
    _add_common(parser, shared)
    add(parser, *(option for option in connection if option not in shared))
    return parser


def add(parser: argparse.ArgumentParser, *options: Option) -> None:
    """Add options to `parser`."""
    for option in options:
        _add(parser, option)
        _declare(parser, (option,))


def add_one_of(
    parser: argparse.ArgumentParser, *options: Option, required: bool = False
) -> None:
    """Add mutually exclusive options to `parser`."""
    group = parser.add_mutually_exclusive_group(required=required)
    for option in options:
        _add(group, option)
    _declare(parser, options)


def add_argument(
    parser: argparse.ArgumentParser,
    name: str,
    *,
    metavar: str,
    help: str,
    read: Callable[[str], object] = str,
    nargs: str | None = None,
    names: str | None = None,
) -> None:
    """Add a positional argument; the shell completes it with `names`, if given."""
    action = parser.add_argument(
        name, metavar=metavar, help=help, type=read, nargs=nargs
    )
    action.names = names  # type: ignore[attr-defined]  # read by `completion`


def apply_environment(args: argparse.Namespace) -> None:
    """Fill in missing options from the environment or their defaults.

    `typed` becomes the names of the options that the command line contains.
    """
    declared = [*chain(*getattr(args, "options", ()))]
    args.typed = frozenset(option.name for option in declared) & {*vars(args)}
    for exclusive in getattr(args, "options", ()):
        typed = [option for option in exclusive if hasattr(args, option.name)]
        for option in exclusive:
            setattr(args, option.name, getattr(args, option.name, None))
        if not typed:
            for option in exclusive:
                value = None if _is_other_format(option) else option.from_environment()
                setattr(args, option.name, option.default if value is None else value)
    _choose_output(args)


def _is_other_format(option: Option) -> bool:
    """Return whether $FOREWARN_OUTPUT has a format that only other commands have."""
    text = os.environ.get(option.variable or "", "")
    return option.name == "output" and text.lower() in {*FORMATS} - {
        *str(option.metavar).split("|")
    }


def _choose_output(args: argparse.Namespace) -> None:
    """Set `output` to the format, and `json` to whether the format is JSON."""
    options = {
        option.name: option
        for several in getattr(args, "options", ())
        for option in several
    }
    if "json" not in options:
        return
    if options.get("output") is None or options["output"].variable is None:
        by_environment = os.environ.get("FOREWARN_OUTPUT", "").lower() == "json"
        args.json = args.json or by_environment
        return
    if args.json and args.output not in (None, "json"):
        raise WrongUsage("--json and --output cannot be used together")
    formats = str(options["output"].metavar).split("|")
    args.output = "json" if args.json else args.output or formats[0]
    args.json = args.output == "json"


def _parser(
    subcommands: Subcommands, name: str, summary: str, description: str, example: str
) -> CommandParser:
    return subcommands.add_parser(
        name,
        help=summary,
        description=_filled(description),
        epilog=f"example:\n  {example}",
        formatter_class=CommandHelp,
        allow_abbrev=False,
        aliases=[short for short, long in ALIASES.items() if long == name],
    )


def _filled(text: str) -> str:
    """Wrap paragraphs to 80 columns, except paragraphs with aligned columns."""
    return "\n\n".join(
        part if "  " in part else fill(part, _WIDTH, break_on_hyphens=False)
        for part in text.split("\n\n")
    )


def _add_common(parser: CommandParser, options: Sequence[Option]) -> None:
    """Add options that many commands share, listed in one paragraph of the help."""
    if not options:
        return
    group = parser.add_argument_group("common options")
    for option in options:
        action = _add(group, option)
        if not CommandParser.shows_common:
            action.help = argparse.SUPPRESS
        _declare(parser, (option,))
    flags = ", ".join(option.short or option.flag for option in options)
    listed = fill(
        f"common options: {flags} ({_SEE_OPTIONS})", _WIDTH, subsequent_indent="  "
    )
    parser.epilog = f"{listed}\n\n{parser.epilog}"


def _add(
    parser: "argparse.ArgumentParser | argparse._ArgumentGroup", option: Option
) -> argparse.Action:
    flags = [option.flag] if option.short is None else [option.short, option.flag]
    unset = argparse.SUPPRESS  # a default would overwrite the parent parser's value
    text = help_of(option).replace("%", "%%")
    if option.switch:
        return parser.add_argument(
            *flags, action="store_const", const=True, default=unset, help=text
        )
    action = parser.add_argument(
        *flags,
        action="extend" if option.repeated else "store",
        type=_list_of(option.read) if option.repeated else option.read,
        metavar=option.metavar,
        default=unset,
        help=text,
    )
    action.names = option.names  # type: ignore[attr-defined]  # read by `completion`
    return action


def help_of(option: Option) -> str:
    """Return the help text of an option, with its variable and its default."""
    default = option.shown_default or option.default
    shown = f"{default:g}" if isinstance(default, float) else default
    notes = [f"${option.variable}"] if option.variable else []
    notes += [] if default is None else [f"default: {shown}"]
    return option.help + (f" [{'; '.join(notes)}]" if notes else "")


def _list_of(read: Callable[[str], object]) -> Callable[[str], list[object]]:
    """Return a parser for values that are separated by commas."""

    def read_list(text: str) -> list[object]:
        words = [word.strip() for word in text.split(",") if word.strip()]
        if not words:  # probably an empty variable in a script
            raise argparse.ArgumentTypeError("a value is missing")
        return [read(word) for word in words]

    return read_list


def _declare(parser: argparse.ArgumentParser, exclusive: tuple[Option, ...]) -> None:
    earlier = parser.get_default("options") or ()
    parser.set_defaults(options=(*earlier, exclusive))
