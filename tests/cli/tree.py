"""Every command that there is, found by walking the parser."""

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from forewarn import cli
from forewarn.cli.options import Option


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command that can be run."""

    words: tuple[str, ...]
    parser: argparse.ArgumentParser

    @property
    def name(self) -> str:
        return " ".join(self.words)

    @property
    def flags(self) -> Sequence[str]:
        """Every long flag that it takes, but for --help."""
        given = [flag for each in self.parser._actions for flag in each.option_strings]
        return [flag for flag in given if flag not in ("-h", "--help")]

    @property
    def options(self) -> Sequence[Option]:
        """What of that also comes from the environment by way of `Option`."""
        rivals = self.parser.get_default("options") or ()
        return [option for several in rivals for option in several]


def commands() -> Sequence[Command]:
    """Find every command, those of others' nouns, too."""
    return [*_below(cli.parser([]), ())]


def _below(
    parser: argparse.ArgumentParser, words: tuple[str, ...]
) -> Iterator[Command]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for word, below in action.choices.items():
                yield from _below(below, (*words, word))
    if parser.get_default("run") is not None:
        yield Command(words=words, parser=parser)
