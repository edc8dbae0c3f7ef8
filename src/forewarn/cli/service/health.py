"""`forewarn health`: check readiness, for scripts and containers."""

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace

from forewarn.cli.api import ControlApi, api_of
from forewarn.cli.options import Option, Subcommands, add_command
from forewarn.cli.output import write_error, write_json, write_response
from forewarn.cli.responses import JsonObject, object_from
from forewarn.cli.values import read_duration
from forewarn.errors import ForewarnError, Misunderstood, Refused, WrongUsage
from forewarn.formats import join_names

_MIN_TIMEOUT, _MAX_TIMEOUT = 1.0, 5.0  # seconds for one response
_PAUSE = 0.2  # seconds between two attempts

_DESCRIPTION = """\
Check whether the service is ready, which means that VMs see current events. No
token is required. The exit code is 0 if the service is ready and 1 if it is not,
as container health checks expect. A service with injected faults counts as
ready; the output lists the faults."""

_WAIT = Option(
    flag="--wait",
    metavar="DURATION",
    read=read_duration,
    default=0,
    help="how long to wait for the service to become ready",
)


def register(subcommands: Subcommands) -> None:
    """Add `health`."""
    add_command(
        subcommands,
        "health",
        _run,
        summary="check whether the service is ready, or wait for it",
        description=_DESCRIPTION,
        example="forewarn health --wait 30s",
        options=(_WAIT,),
        formats=("table", "json"),
    )


def _run(args: argparse.Namespace) -> int:
    """Poll until the service is ready or time runs out."""
    until = time.monotonic() + args.wait
    while True:
        # Read every time: a service records its address only after it has started.
        api = replace(api_of(args), token=None)
        try:
            response = _readiness(api, until)
            return write_response(args, response.plain, _describe(response))
        except WrongUsage:
            raise
        except ForewarnError as error:
            if _is_final(error) or time.monotonic() + _PAUSE > until:
                return _write_not_ready(error, as_json=args.json)
        time.sleep(_PAUSE)


def _readiness(api: ControlApi, until: float) -> JsonObject:
    left = until - time.monotonic()
    timeout = max(_MIN_TIMEOUT, min(left, _MAX_TIMEOUT)) if left > 0 else _MAX_TIMEOUT
    response = object_from(api.request("GET", "/readyz", timeout=timeout))
    if response.text("status") == "ready":
        return response
    raise Misunderstood(f"{api.url} is not a forewarn control API; check --url")


def _is_final(error: ForewarnError) -> bool:
    """Return whether retrying would get the same response."""
    return isinstance(error, Refused) and error.status < 500


def _describe(response: JsonObject) -> Iterator[str]:
    faults = response.names("faults")
    injected = f", with injected faults: {join_names(faults)}"
    yield f"ready{injected if faults else ''}"
    for warning in response.names("warnings"):
        yield f"warning: {warning}"


def _write_not_ready(error: ForewarnError, *, as_json: bool | None) -> int:
    if as_json:
        write_json({"status": "not ready", "reason": str(error)})
    else:
        write_error(f"not ready: {error}")
    return 1
