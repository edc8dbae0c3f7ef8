"""Options for announcing maintenance, and the request body built from them."""

import argparse
from collections.abc import Mapping
from datetime import datetime

from forewarn.cli.options import Option
from forewarn.cli.values import read_duration, read_source, read_time
from forewarn.errors import WrongUsage

TIMES = (
    Option(
        flag="--notice",
        metavar="DURATION",
        read=read_duration,
        help="how long the VMs get, such as 20m; the minimum of the type if absent",
    ),
    Option(
        flag="--not-before",
        metavar="TIME",
        read=read_time,
        help="when it starts at the latest, such as 2026-01-31T12:15:00Z",
    ),
)
DURATION = Option(
    flag="--duration",
    metavar="DURATION",
    read=read_duration,
    help="how long the VMs will be away, such as 9s",
)
DESCRIPTION = Option(flag="--description", metavar="TEXT", help="what the VMs are told")
REASON = Option(flag="--reason", metavar="TEXT", help="why; kept in the journal")
EMERGENCY = (
    Option(
        flag="--emergency",
        switch=True,
        help="give less notice than the minimum, or none; needs --reason",
    ),
    Option(
        flag="--ignore-gates",
        switch=True,
        help="with --emergency: start even while a gate is shut",
    ),
)

#: Option and argument names, and their API field names.
_KEYS: Mapping[str, str] = {
    "type": "type",
    "vm": "vms",
    "host": "host",
    "group": "group",
    "notice": "notice_seconds",
    "not_before": "not_before",
    "fails_by": "fails_by",
    "duration": "duration_seconds",
    "description": "description",
    "source": "source",
    "reason": "reason",
    "emergency": "emergency",
    "ignore_gates": "ignore_gates",
}


def source(help: str) -> Option:
    """Return the --source option with a help text of its own."""
    return Option(flag="--source", metavar="platform|user", read=read_source, help=help)


def body_of(args: argparse.Namespace) -> dict[str, object]:
    """Build the request body from the given options, omitting absent ones."""
    values = vars(args)
    if values.get("emergency") and not values.get("reason"):
        raise WrongUsage("--emergency needs a --reason, which is kept in the journal")
    if values.get("ignore_gates") and not values.get("emergency"):
        raise WrongUsage("--ignore-gates is only possible with --emergency")
    return {
        key: value.isoformat() if isinstance(value, datetime) else value
        for name, key in _KEYS.items()
        if (value := values.get(name)) is not None
    }
