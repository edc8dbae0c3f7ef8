"""The command line, run within this process."""

import shlex
from dataclasses import dataclass

import pytest

from forewarn.cli import main


@dataclass(frozen=True, slots=True)
class Cli:
    """Runs commands, and returns what they print."""

    capsys: pytest.CaptureFixture[str]

    def __call__(self, line: str, *words: object, code: int = 0) -> str:
        """Run a command that ends with `code`; return what it prints.

        That is its output, or the error message of a command that fails without any;
        one that succeeds has no errors. The `line` is split at spaces; the `words`
        after it are not.
        """
        assert main.main([*shlex.split(line), *map(str, words)]) == code
        captured = self.capsys.readouterr()
        assert code or not captured.err
        return captured.err if code and not captured.out else captured.out
