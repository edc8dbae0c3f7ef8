"""Options, and the environment that stands in for them.

Rules of this file:

1. Every option can also be given as FOREWARN_<OPTION>, or by the variable that it
   names; what is typed wins, and an empty variable is no variable.
2. An option that was given nowhere and has no default is None.
3. A wrong value is a sentence and exit code 2, wherever it was given.
"""

import argparse
import os
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from forewarn.cli.values import read_truth, read_url
from forewarn.errors import WrongUsage

Subcommands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
Run: TypeAlias = Callable[[argparse.Namespace], int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option of a command."""

    flag: str
    help: str
    metavar: str | None = None
    read: Callable[[str], object] = str
    switch: bool = False  # given or not given; takes no value
    repeated: bool = False  # takes several values and may be given several times
    default: object = None
    stand_in: str | None = None  # its variable, if that is not called like the flag
    short: str | None = None  # as -o; None: it is only ever written in full

    @property
    def name(self) -> str:
        """The attribute of the parsed arguments that holds its value."""
        return self.flag.lstrip("-").replace("-", "_")

    @property
    def variable(self) -> str:
        """The environment variable that stands in for it."""
        return self.stand_in or f"FOREWARN_{self.name.upper()}"

    def from_environment(self) -> object:
        """Read its variable; None if that is not set."""
        text = os.environ.get(self.variable)
        if not text:
            return None
        try:
            if self.switch:
                return read_truth(text)
            if self.repeated:
                return [self.read(each) for each in re.split(r"[,\s]+", text.strip())]
            return self.read(text)
        except argparse.ArgumentTypeError as error:
            raise WrongUsage(f"${self.variable}: {error}") from error


JSON = Option(flag="--json", switch=True, help="answer in JSON, for programs")

#: How to reach the service; every command of the operator takes these.
SERVICE = (
    Option(
        flag="--url",
        metavar="URL",
        read=read_url,
        default="http://127.0.0.1:8255",
        help="where the control API answers",
    ),
    Option(
        flag="--token",
        metavar="TOKEN",
        help="the operator's token; better kept in the environment, or in the file"
        " `token` of the state directory, which is read if it is given nowhere",
    ),
    Option(
        flag="--ca",
        metavar="FILE",
        help="the certificate of the authority that a service with https is to be"
        " known by, in PEM; those that this machine trusts, if it is given nowhere",
    ),
    JSON,
)


# --- commands and their options ----------------------------------------------


def add_noun(
    subcommands: Subcommands, name: str, *, summary: str, example: str
) -> Subcommands:
    """Add a command that is followed by another word."""
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
    common: tuple[Option, ...] = SERVICE,
) -> argparse.ArgumentParser:
    """Add a command that `run` carries out by asking the service."""
    parser = _parser(subcommands, name, summary, description, example)
    parser.set_defaults(run=run)
    group = parser.add_argument_group("options of every command")
    for option in common:
        _add(group, option)
        _remember(parser, (option,))
    return parser


def _parser(
    subcommands: Subcommands, name: str, summary: str, description: str, example: str
) -> argparse.ArgumentParser:
    return subcommands.add_parser(
        name,
        help=summary,
        description=description,
        epilog=f"example:\n  {example}",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )


def add(parser: argparse.ArgumentParser, *options: Option) -> None:
    """Give `parser` some options."""
    for option in options:
        _add(parser, option)
        _remember(parser, (option,))


def add_one_of(
    parser: argparse.ArgumentParser, *options: Option, required: bool = False
) -> None:
    """Give `parser` some options of which only one can be meant."""
    given = any(os.environ.get(option.variable) for option in options)
    group = parser.add_mutually_exclusive_group(required=required and not given)
    for option in options:
        _add(group, option)
    _remember(parser, options)


def _add(
    parser: "argparse.ArgumentParser | argparse._ArgumentGroup", option: Option
) -> None:
    default = "" if option.default is None else f"; {option.default} if not given"
    text = f"{option.help} [${option.variable}{default}]".replace("%", "%%")
    flags = [option.flag] if option.short is None else [option.short, option.flag]
    unset = argparse.SUPPRESS  # else a word that follows undoes what came before it
    if option.switch:
        parser.add_argument(
            *flags, action="store_const", const=True, default=unset, help=text
        )
    elif option.repeated:
        parser.add_argument(
            *flags,
            nargs="+",
            action="extend",
            type=option.read,
            metavar=option.metavar,
            default=unset,
            help=text,
        )
    else:
        parser.add_argument(
            *flags,
            type=option.read,
            metavar=option.metavar,
            default=unset,
            help=text,
        )


def _remember(parser: argparse.ArgumentParser, rivals: tuple[Option, ...]) -> None:
    known = parser.get_default("options") or ()
    parser.set_defaults(options=(*known, rivals))


def settle(args: argparse.Namespace) -> None:
    """Fill what was not typed from the environment and the defaults."""
    for rivals in getattr(args, "options", ()):
        typed = [each for each in rivals if hasattr(args, each.name)]
        for option in rivals:
            setattr(args, option.name, getattr(args, option.name, None))
        if not typed:
            found = {each: each.from_environment() for each in rivals}
            _refuse_rivals([each for each in rivals if found[each] is not None])
            for option, value in found.items():
                setattr(args, option.name, option.default if value is None else value)


def _refuse_rivals(options: list[Option]) -> None:
    if len(options) > 1:
        names = " and ".join(f"${option.variable}" for option in options)
        raise WrongUsage(f"{names} exclude each other; set one of them")
