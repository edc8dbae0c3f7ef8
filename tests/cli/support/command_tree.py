"""All commands, found by walking the argument parser."""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from forewarn.cli import main
from forewarn.cli.options import ALIASES, Option


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A command that can be run."""

    words: tuple[str, ...]
    parser: argparse.ArgumentParser

    @property
    def name(self) -> str:
        return " ".join(self.words)

    @property
    def flags(self) -> Sequence[str]:
        """Return the long name of every flag except --help."""
        names_of_actions = [action.option_strings for action in self.parser._actions]
        names = [max(flags, key=len) for flags in names_of_actions if flags]
        return [name for name in names if name != "--help"]

    @property
    def options(self) -> Sequence[Option]:
        """Return the options that can also come from the environment."""
        rivals = self.parser.get_default("options") or ()
        return [option for several in rivals for option in several]


def commands() -> Sequence[Command]:
    """Return every command, including subcommands, once; aliases are not commands."""
    return [*_below(main.parser([]), ())]


def _below(
    parser: argparse.ArgumentParser, words: tuple[str, ...]
) -> Iterator[Command]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, below in action.choices.items():
                if word in {*ALIASES, "help"}:
                    continue
                yield from _below(below, (*words, word))
    if parser.get_default("run") is not None:
        yield Command(words=words, parser=parser)
