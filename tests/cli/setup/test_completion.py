"""Tests of `forewarn completion`."""

import pytest
from tests.cli.support.command_line import Cli

from forewarn.cli.setup.completion import SHELLS


@pytest.mark.parametrize("shell", SHELLS)
def test_help_shows_how_to_load_the_script(run: Cli, shell: str) -> None:
    assert f"forewarn completion {shell}" in run("completion --help")


def test_unknown_shell_is_a_usage_error(run: Cli) -> None:
    assert '"zsh"' in run("completion tcsh", code=2)
