"""`forewarn completion`: print a script that completes commands with the Tab key.

The scripts are in `shells/`; `docs/make_completion.py` generates them from the parser.
"""

import argparse
from importlib.resources import files

from forewarn.cli.options import Subcommands, add_argument, add_command
from forewarn.cli.output import write
from forewarn.cli.values import one_of

SHELLS = ("bash", "zsh", "fish")

_DESCRIPTION = """\
Print a script that completes commands, options, files and names with the Tab
key. Names, such as those of VMs, come from the service that --context, --url,
the environment or the current context chooses.

To complete commands in the current shell, run:

  bash:  source <(forewarn completion bash)
  zsh:   source <(forewarn completion zsh)
  fish:  forewarn completion fish | source

To complete commands in all new shells, add the line for bash to ~/.bashrc, or the
line for zsh to ~/.zshrc after `autoload -Uz compinit; compinit`. For fish, run:

  forewarn completion fish > ~/.config/fish/completions/forewarn.fish

If forewarn is not in the PATH, as in a checkout, use its path in these commands,
for example ~/forewarn/.venv/bin/forewarn. The scripts also complete commands that
are typed with a path, and then get the names from that program. After an upgrade,
run the command for fish again."""


def register(subcommands: Subcommands) -> None:
    """Add `completion`."""
    parser = add_command(
        subcommands,
        "completion",
        _print_script,
        summary="complete commands and names with the Tab key",
        description=_DESCRIPTION,
        example="forewarn completion fish | source",
        common=(),
    )
    add_argument(
        parser,
        "shell",
        metavar="|".join(SHELLS),
        read=one_of(*SHELLS),
        help="shell that runs the script",
    )


def _print_script(args: argparse.Namespace) -> int:
    folder = files("forewarn.cli.setup") / "shells"
    write((folder / f"completion.{args.shell}").read_text("utf-8").rstrip("\n"))
    return 0
