"""The wait for a maintenance operation to start or end.

1. The state is polled once per second. While the service cannot be reached, the wait
   continues.
2. The wait ends early if what it waits for can no longer happen.
"""

import argparse
import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress

from forewarn.cli.api import ControlApi, segment
from forewarn.cli.options import Option
from forewarn.cli.output import format_duration, write_error
from forewarn.cli.progress import ProgressLine, progress
from forewarn.cli.responses import MaintenanceResponse, maintenance_from
from forewarn.cli.values import one_of, read_duration
from forewarn.errors import Conflict, TimedOut, Unreachable

_PAUSE = 1.0  # seconds between two requests
_TIMEOUT = 60.0  # seconds for one response; never longer than the time limit

#: Phases that end the wait, and phases after which it cannot succeed.
_GOALS: Mapping[str, tuple[frozenset[str], frozenset[str]]] = {
    "started": (
        frozenset({"STARTED", "COMPLETED", "FAILED"}),
        frozenset({"CANCELED"}),
    ),
    "completed": (frozenset({"COMPLETED"}), frozenset({"CANCELED", "FAILED"})),
    "canceled": (
        frozenset({"CANCELED"}),
        frozenset({"STARTED", "COMPLETED", "FAILED"}),
    ),
}

OPTIONS = (
    Option(
        flag="--for",
        metavar="|".join(_GOALS),
        read=one_of(*_GOALS),
        default="completed",
        help="what to wait for",
    ),
    Option(
        flag="--timeout",
        metavar="DURATION",
        read=read_duration,
        help="time limit, such as 5m",
        shown_default="none",
    ),
)


def wait_for(
    api: ControlApi,
    path: str,
    args: argparse.Namespace,
    *,
    now: Callable[[], float] = time.monotonic,
    pause: Callable[[float], None] = time.sleep,
) -> object:
    """Wait for the operation that is at `path` now; return it.

    Raise `Conflict` if what `args` waits for can no longer happen, and `TimedOut` at
    the time limit.
    """
    goal: str = getattr(args, "for")
    reached, missed = _GOALS[goal]
    until = math.inf if args.timeout is None else now() + args.timeout
    plain = api.request("GET", path, timeout=_limit(until - now()))
    maintenance = maintenance_from(plain)
    # A name stands for the operation only until the operation ends.
    path = f"/v1/maintenances/{segment(maintenance.id or '')}"
    was_stuck = False
    with progress(_text(maintenance, goal)) as line:
        while maintenance.phase not in reached:
            if maintenance.phase in missed:
                raise Conflict(
                    f"{maintenance.id} is {maintenance.phase}, so it cannot be {goal}"
                )
            was_stuck = _report_stuck(maintenance, was_stuck)
            if now() >= until:
                raise TimedOut(
                    f"{maintenance.id} was not {goal} within"
                    f" {format_duration(args.timeout)}: it is {maintenance.phase}"
                )
            pause(max(0.0, min(_PAUSE, until - now())))
            plain = _again(api, path, plain, line, until - now())
            maintenance = maintenance_from(plain)
            line.update(_text(maintenance, goal))
    return plain


def _limit(left: float) -> float:
    """Return the time limit for one response, in seconds."""
    return min(_TIMEOUT, max(_PAUSE, left))


def _text(maintenance: MaintenanceResponse, goal: str) -> str:
    state = "stuck" if maintenance.stuck_since else maintenance.phase.lower()
    return f"{maintenance.id} is {state}; waiting until it is {goal}"


def _report_stuck(maintenance: MaintenanceResponse, was_stuck: bool) -> bool:
    """Report once that an operation is stuck, because it may need an operator."""
    is_stuck = maintenance.stuck_since is not None and maintenance.phase == "STARTED"
    if is_stuck and not was_stuck:
        write_error(
            f"{maintenance.id} is stuck; to see why, run `forewarn maintenance explain"
            f" {maintenance.id}`"
        )
    return is_stuck


def _again(
    api: ControlApi, path: str, plain: object, line: ProgressLine, left: float
) -> object:
    """Read the operation again; return `plain` if the service cannot be reached."""
    with suppress(Unreachable):
        return api.request("GET", path, timeout=_limit(left))
    line.update(f"cannot reach {api.title}; retrying")
    return plain
