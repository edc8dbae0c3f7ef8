"""Command-line options and the environment variables that set them.

1. Every option has an environment variable: FOREWARN_<OPTION>, or `own_variable` if
   set.
2. The command line takes precedence. An empty variable counts as unset.
3. An unset option without a default is None.
4. An invalid value from either source causes a one-sentence error message and exit
   code 2.
"""

import argparse
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from textwrap import fill
from typing import TypeAlias

from forewarn.cli.values import read_boolean, read_url
from forewarn.errors import WrongUsage

Subcommands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
Run: TypeAlias = Callable[[argparse.Namespace], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """An option of a command."""

    flag: str
    help: str
    metavar: str | None = None
    read: Callable[[str], object] = str
    switch: bool = False  # takes no value
    repeated: bool = False  # takes several values and may be repeated
    default: object = None
    shown_default: str | None = None  # in the help text; None to show `default`, if any
    own_variable: str | None = None  # environment variable; None for FOREWARN_<OPTION>
    short: str | None = None  # for example -o; None if there is no short form

    @property
    def name(self) -> str:
        """The name of the attribute that contains the parsed value."""
        return self.flag.lstrip("-").replace("-", "_")

    @property
    def variable(self) -> str:
        """The environment variable that sets the option."""
        return self.own_variable or variable_of(self.flag)

    def from_environment(self) -> object:
        """Read the value from the environment, or None if the variable is not set."""
        text = os.environ.get(self.variable)
        if not text:
            return None
        try:
            if self.switch:
                return read_boolean(text)
            if self.repeated:
                return [self.read(word) for word in re.split(r"[,\s]+", text.strip())]
            return self.read(text)
        except argparse.ArgumentTypeError as error:
            raise WrongUsage(f"${self.variable}: {error}") from error


def variable_of(flag: str) -> str:
    """Return the default environment variable of a flag."""
    return f"FOREWARN_{flag.lstrip('-').replace('-', '_').upper()}"


JSON = Option(flag="--json", switch=True, help="print JSON")

#: Options for connecting to the service, common to all operator commands.
SERVICE = (
    Option(
        flag="--url",
        metavar="URL",
        read=read_url,
        default="http://127.0.0.1:8255",
        help="address of the control API",
    ),
    Option(
        flag="--token",
        metavar="TOKEN",
        help="API token; setting it in the environment or a file is safer",
        shown_default="the contents of the `token` file in the state directory",
    ),
    Option(
        flag="--ca",
        metavar="FILE",
        help="CA certificate (PEM) used to verify the service's certificate",
        shown_default="the system's trusted CAs",
    ),
    JSON,
)


# --- commands and their options ----------------------------------------------


def add_noun(
    subcommands: Subcommands, name: str, *, summary: str, example: str
) -> Subcommands:
    """Add a command with subcommands."""
    sentence = f"{summary[0].upper()}{summary[1:]}."
    parser = _parser(subcommands, name, summary, sentence, example)
    return parser.add_subparsers(
        title="commands", metavar="COMMAND", dest=f"{name}_command", required=True
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
) -> argparse.ArgumentParser:
    """Add a command that calls `run`.

    If `options` contains a tuple, its options are mutually exclusive.
    """
    parser = _parser(subcommands, name, summary, description, example)
    parser.set_defaults(run=run)
    group = parser.add_argument_group("common options")
    for option in common:
        _add(group, option)
        _declare(parser, (option,))
    for item in options:
        if isinstance(item, tuple):
            add_one_of(parser, *item)
        else:
            add(parser, item)
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
    is_set = any(os.environ.get(option.variable) for option in options)
    group = parser.add_mutually_exclusive_group(required=required and not is_set)
    for option in options:
        _add(group, option)
    _declare(parser, options)


def apply_environment(args: argparse.Namespace) -> None:
    """Fill in missing options from the environment or their defaults."""
    for exclusive in getattr(args, "options", ()):
        typed = [option for option in exclusive if hasattr(args, option.name)]
        for option in exclusive:
            setattr(args, option.name, getattr(args, option.name, None))
        if not typed:
            values = {option: option.from_environment() for option in exclusive}
            _check_exclusive([option for option in exclusive if values[option]])
            for option, value in values.items():
                setattr(args, option.name, option.default if value is None else value)


def _parser(
    subcommands: Subcommands, name: str, summary: str, description: str, example: str
) -> argparse.ArgumentParser:
    return subcommands.add_parser(
        name,
        help=summary,
        description=_filled(description),
        epilog=f"example:\n  {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def _filled(text: str) -> str:
    """Wrap paragraphs to 80 columns, except paragraphs with aligned columns."""
    return "\n\n".join(
        part if "  " in part else fill(part, 80, break_on_hyphens=False)
        for part in text.split("\n\n")
    )


def _add(
    parser: "argparse.ArgumentParser | argparse._ArgumentGroup", option: Option
) -> None:
    default = option.shown_default or option.default
    shown = f"{default:g}" if isinstance(default, float) else default
    suffix = "" if default is None else f"; default: {shown}"
    text = f"{option.help} [${option.variable}{suffix}]".replace("%", "%%")
    flags = [option.flag] if option.short is None else [option.short, option.flag]
    unset = argparse.SUPPRESS  # a default would overwrite the parent parser's value
    if option.switch:
        parser.add_argument(
            *flags, action="store_const", const=True, default=unset, help=text
        )
    else:
        parser.add_argument(
            *flags,
            nargs="+" if option.repeated else None,
            action="extend" if option.repeated else "store",
            type=option.read,
            metavar=option.metavar,
            default=unset,
            help=text,
        )


def _declare(parser: argparse.ArgumentParser, exclusive: tuple[Option, ...]) -> None:
    earlier = parser.get_default("options") or ()
    parser.set_defaults(options=(*earlier, exclusive))


def _check_exclusive(options: list[Option]) -> None:
    if len(options) > 1:
        names = " and ".join(f"${option.variable}" for option in options)
        raise WrongUsage(f"{names} cannot be used together; set only one of them")
