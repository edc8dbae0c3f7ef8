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
        """Every flag that it takes, by its long name, but for --help."""
        given = [each.option_strings for each in self.parser._actions]
        names = [max(flags, key=len) for flags in given if flags]
        return [name for name in names if name != "--help"]

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
