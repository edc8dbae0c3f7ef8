"""`forewarn agent`: run the agent or check the agent's file with `agent check`."""

import argparse
import sys
from dataclasses import replace
from importlib import import_module
from pathlib import Path

from forewarn.agent.config import file
from forewarn.agent.config.plan import Plan
from forewarn.agent.config.preflight import check_machine
from forewarn.cli.guest.watch import DISCOVER
from forewarn.cli.options import (
    JSON,
    Option,
    Subcommands,
    add,
    add_command,
    add_one_of,
)
from forewarn.cli.output import write, write_error, write_json
from forewarn.cli.values import one_of
from forewarn.errors import CannotStart, FaultyFile
from forewarn.formats import count
from forewarn.logs import FORMATS, LEVELS, log_to_stderr

_DESCRIPTION = """\
Watch this VM's events: run hooks when an event is announced, starts or ends, and
approve events according to rules. The agent runs until it receives SIGTERM or
you press Ctrl-C. It keeps its state on disk and resumes where it left off, even
after the VM restarts. The agent runs only on Linux."""

_EXAMPLE = """\
forewarn agent --config /etc/forewarn/agent.toml
  forewarn agent check
  forewarn agent --dry-run
  forewarn agent explain document.json"""

_CHECK_DESCRIPTION = """\
Check the agent's configuration file, and check that the commands, interpreters,
functions and directories that it refers to exist on this machine. With
`discover = true`, also check that the agent is allowed to use DHCP. Report files
and directories that other users own or can write to, and show commands that fix
the problem. This command runs no hooks and sends no requests. The exit code is 1
if there are any problems."""

#: Subcommands with their own modules, in the order in which new users need them.
_SUBCOMMANDS = ("explain", "report", "install")

CONFIG = Option(
    flag="--config",
    metavar="FILE",
    default=str(file.DEFAULT),
    variable=file.VARIABLE,
    help="agent configuration file",
)

NAME = Option(
    flag="--name",
    metavar="NAME",
    help="this VM's name in events; overrides the configuration file",
)

_ENDPOINT = Option(
    flag="--endpoint",
    metavar="URL",
    variable="FOREWARN_ENDPOINT",
    help="address of the metadata service; overrides the configuration file",
)

OPTIONS = (
    CONFIG,
    NAME,
    Option(
        flag="--dry-run",
        switch=True,
        help="log what the agent would do, but run no hooks and approve nothing",
    ),
    Option(
        flag="--log-format",
        metavar="FORMAT",
        read=one_of(*FORMATS),
        help="log format: text or json; overrides the configuration file",
    ),
    Option(
        flag="--log-level",
        metavar="LEVEL",
        read=one_of(*LEVELS),
        help="minimum log level: debug, info, warning or error; overrides the"
        " configuration file",
    ),
)


def register(subcommands: Subcommands) -> None:
    """Add `agent` and its subcommands."""
    parser = add_command(
        subcommands,
        "agent",
        run,
        summary="in a VM: run hooks and approve events according to rules",
        description=_DESCRIPTION,
        example=_EXAMPLE,
        common=(),
    )
    add_one_of(parser, _ENDPOINT, DISCOVER)
    add(parser, *OPTIONS)
    commands = parser.add_subparsers(
        title="commands", metavar="COMMAND", dest="agent_command", required=False
    )
    _register_check(commands)
    for name in _SUBCOMMANDS:
        import_module(f"forewarn.cli.guest.agent_{name}").register(commands)


def run(args: argparse.Namespace) -> int:
    """Run the agent until it receives a signal to stop."""
    if not sys.platform.startswith("linux"):
        raise CannotStart(
            "the agent requires Linux; use `forewarn watch`, `forewarn approve` or"
            " forewarn.Client on this system"
        )
    from forewarn.agent import main
    from forewarn.agent.telemetry.logs import text_formatter

    plan = plan_of(args)
    plan = replace(
        _with_endpoint(plan, args),
        log_format=args.log_format or plan.log_format,
        log_level=args.log_level or plan.log_level,
    )
    log_to_stderr(plan.log_format, plan.log_level, text_formatter())
    main.run_agent(plan, is_dry=bool(args.dry_run))
    return 0


def _with_endpoint(plan: Plan, args: argparse.Namespace) -> Plan:
    """Apply --endpoint or --discover, which override the file."""
    if args.discover:
        return replace(plan, endpoint=None, discover=True)
    if args.endpoint or args.discover is False:
        return replace(plan, endpoint=args.endpoint or plan.endpoint, discover=False)
    return plan


def plan_of(args: argparse.Namespace) -> Plan:
    """Read the file given by --config; --name overrides the name in the file."""
    plan = file.read_plan(Path(args.config))
    return replace(plan, name=args.name or plan.name)


# --- check -------------------------------------------------------------------


def _register_check(subcommands: Subcommands) -> None:
    """Add `agent check`."""
    parser = add_command(
        subcommands,
        "check",
        _run_check,
        summary="check the agent's configuration file",
        description=_CHECK_DESCRIPTION,
        example="forewarn agent check --config agent.toml",
        common=(JSON,),
    )
    add(parser, CONFIG, NAME)


def _run_check(args: argparse.Namespace) -> int:
    """Print the problems in the agent's file; return 1 if the file has problems."""
    plan = plan_of(args)
    wrong = check_machine(plan)
    if args.json:
        write_json({"wrong": wrong, "warnings": [*plan.warnings], **_plain(plan)})
        return 1 if wrong else 0
    for warning in plan.warnings:
        write_error(f"warning: {warning}")
    if wrong:
        raise FaultyFile("\n".join(wrong))
    rules, hooks = count(len(plan.rules), "rule"), count(len(plan.hooks), "hook")
    write(f"{args.config} is valid: {rules}, {hooks}")
    return 0


def _plain(plan: Plan) -> dict[str, object]:
    return {
        "rules": [rule.name for rule in plan.rules],
        "hooks": [*plan.hooks],
        "state": str(plan.state),
        "discover": plan.discover,
    }
