"""Options shared by the `forewarn agent` commands: configuration file and VM name."""

import argparse
from dataclasses import replace
from pathlib import Path

from forewarn.agent import config
from forewarn.agent.plan import Plan
from forewarn.cli.options import Option

CONFIG = Option(
    flag="--config",
    metavar="FILE",
    default=str(config.DEFAULT),
    stand_in=config.VARIABLE,
    help="the agent's file",
)

NAME = Option(
    flag="--name",
    metavar="NAME",
    help="what events call this VM; wins over the file",
)


def plan_of(args: argparse.Namespace) -> Plan:
    """Read the file given by --config; --name overrides the name in it."""
    plan = config.read(Path(args.config))
    return replace(plan, name=args.name or plan.name)
