"""What the commands of the agent have in common: its file, and the VM's name."""

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
    """Read the file that --config names, and let --name win over it."""
    plan = config.read(Path(args.config))
    return replace(plan, name=args.name or plan.name)
