"""`forewarn agent check`: validation of the agent's configuration file."""

import argparse

from forewarn.agent.checking import check
from forewarn.agent.plan import Plan
from forewarn.cli.agent_options import CONFIG, NAME, plan_of
from forewarn.cli.options import JSON, Subcommands, add, add_command
from forewarn.cli.tables import complain, count, write, write_json
from forewarn.errors import FaultyFile

_DESCRIPTION = """\
Read the agent's file, and look whether all that it needs is on this machine:
commands, interpreters, functions, folders. Nothing is run and nobody is asked.
What is wrong is told with its line, and the exit code is 1."""


def register(subcommands: Subcommands) -> None:
    """Add `agent check`."""
    parser = add_command(
        subcommands,
        "check",
        run,
        summary="say whether the agent's file is good, and run nothing",
        description=_DESCRIPTION,
        example="forewarn agent check --config agent.toml",
        common=(JSON,),
    )
    add(parser, CONFIG, NAME)


def run(args: argparse.Namespace) -> int:
    """Print the problems of the agent's file; exit code 1 if there are any."""
    plan = plan_of(args)
    wrong = check(plan)
    if args.json:
        write_json({"wrong": wrong, "warnings": [*plan.warnings], **_plain(plan)})
        return 1 if wrong else 0
    for warning in plan.warnings:
        complain(f"warning: {warning}")
    if wrong:
        raise FaultyFile("\n".join(wrong))
    rules, hooks = count(len(plan.rules), "rule"), count(len(plan.hooks), "hook")
    write(f"{args.config} is good: {rules}, {hooks}")
    return 0


def _plain(plan: Plan) -> dict[str, object]:
    return {
        "rules": [rule.name for rule in plan.rules],
        "hooks": [*plan.hooks],
        "state": str(plan.state),
    }
