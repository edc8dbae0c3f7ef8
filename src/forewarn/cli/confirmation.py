"""Confirmation of commands that cannot be undone."""

import argparse
import sys

from forewarn.cli.api import ControlApi
from forewarn.errors import Declined, WrongUsage


def confirm(args: argparse.Namespace, api: ControlApi, question: str) -> None:
    """Ask `question` unless --yes or --dry-run is set; raise `Declined` after a no.

    The question names the service. Without a terminal, raise `WrongUsage` instead.
    """
    if args.yes or getattr(args, "dry_run", None):
        return
    place = f"{question} ({api.title})"
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise WrongUsage(f"{place} requires confirmation; to confirm, add --yes")
    sys.stderr.write(f"{place}? [y/N] ")
    sys.stderr.flush()
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Declined("nothing was changed")
