"""`forewarn agent`: the in-VM agent, which runs hooks and approves events."""

import argparse
import sys
from dataclasses import replace
from importlib import import_module

from forewarn.cli.agent_options import CONFIG, NAME, plan_of
from forewarn.cli.options import Option, Subcommands, add
from forewarn.cli.values import one_of
from forewarn.errors import CannotStart

#: Each has its own module. In the order in which a new user needs them.
COMMANDS: tuple[str, ...] = ("check", "explain", "report", "install")

_DESCRIPTION = """\
Watch the events of this VM: run hooks when one is announced, has started, or is
over, and approve it as a rule says. It runs until it is told to stop. What it
knows is on disk, so that it goes on where it was, also after a restart of the
VM. Linux only."""

_EXAMPLE = """\
example:
  forewarn agent --config /etc/forewarn/agent.toml
  forewarn agent check
  forewarn agent --dry-run
  forewarn agent explain document.json"""

OPTIONS = (
    CONFIG,
    Option(flag="--endpoint", metavar="URL", help="where the metadata service answers"),
    NAME,
    Option(
        flag="--dry-run",
        switch=True,
        help="say what would be done; run no hook, approve nothing",
    ),
    Option(
        flag="--log-format",
        metavar="FORMAT",
        read=one_of("text", "json"),
        help="text or json",
    ),
    Option(
        flag="--log-level",
        metavar="LEVEL",
        read=one_of("debug", "info", "warning", "error"),
        help="debug, info, warning or error",
    ),
)


def register(subcommands: Subcommands) -> None:
    """Add `agent` and its subcommands."""
    parser = subcommands.add_parser(
        "agent",
        help="watch this VM's events, run hooks, approve by rule",
        description=_DESCRIPTION,
        epilog=_EXAMPLE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.set_defaults(run=run)
    add(parser, *OPTIONS)
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", dest="agent_command", required=False
    )
    for name in COMMANDS:
        import_module(f"forewarn.cli.agent_{name}").register(commands)


def run(args: argparse.Namespace) -> int:
    """Run the agent until it receives a signal to stop."""
    if not sys.platform.startswith("linux"):
        raise CannotStart(
            "the agent runs on Linux only; `forewarn watch`, `forewarn approve` and"
            " forewarn.Client work here, too"
        )
    from forewarn.agent import starting
    from forewarn.agent.logs import log_to_stderr

    plan = plan_of(args)
    plan = replace(
        plan,
        endpoint=args.endpoint or plan.endpoint,
        log_format=args.log_format or plan.log_format,
        log_level=args.log_level or plan.log_level,
    )
    log_to_stderr(plan.log_format, plan.log_level)
    starting.run(plan, is_dry=bool(args.dry_run))
    return 0
