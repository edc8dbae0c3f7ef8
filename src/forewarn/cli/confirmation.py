"""Confirmation of commands that cannot be undone."""

import argparse
import sys

from forewarn.cli.api import ControlApi
from forewarn.cli.output import write_error
from forewarn.errors import Declined, WrongUsage
from forewarn.formats import clean


def confirm(args: argparse.Namespace, api: ControlApi, question: str) -> None:
    """Prompt for confirmation unless --yes or --dry-run is set.

    The prompt names the service. Raise `Declined` if the user does not confirm, and
    `WrongUsage` if there is no terminal.
    """
    if args.yes or getattr(args, "dry_run", None):
        return
    place = clean(f"{question} ({api.title})")
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise WrongUsage(f"confirmation required: {place}; to confirm, add --yes")
    try:
        sys.stderr.write(f"{place[:1].upper()}{place[1:]}? [y/N] ")
        sys.stderr.flush()
        reply = sys.stdin.readline()
    except KeyboardInterrupt:
        sys.stderr.write("\n")
        write_error("nothing was changed")
        raise
    if not reply.endswith("\n"):  # the end of the input
        sys.stderr.write("\n")
    if reply.strip().lower() not in ("y", "yes"):
        raise Declined("nothing was changed")
