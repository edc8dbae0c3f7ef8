"""What the commands of the agent have in common: its file, and the VM's name."""

import argparse
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from forewarn.cli.options import Option

if TYPE_CHECKING:
    from forewarn.agent.plan import Plan

CONFIG = Option(
    flag="--config",
    metavar="FILE",
    default="/etc/forewarn/agent.toml",
    stand_in="FOREWARN_AGENT_CONFIG",
    help="the agent's file",
)

NAME = Option(
    flag="--name",
    metavar="NAME",
    help="what events call this VM; wins over the file",
)


def plan_of(args: argparse.Namespace) -> "Plan":
    """Read the file that --config names, and let --name win over it."""
    from forewarn.agent import config  # not before it is needed

    plan = config.read(Path(args.config))
    return replace(plan, name=args.name or plan.name)
