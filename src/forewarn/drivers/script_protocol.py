"""Contract with driver scripts: their input, environment and results."""

import json
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from signal import Signals

from forewarn.core.fleet_file import vm_table
from forewarn.ports import Printed, Report, Work

PREFIX = "FOREWARN_"

_LONGEST_VARIABLE = 100_000  # bytes; Linux rejects more than 128 kB
_LONGEST_LINE = 200  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptResult:
    """The result of a script."""

    code: int | None = None  # same as in `subprocess`; None if the script never ended
    output: str = ""
    is_late: bool = False
    is_halted: bool = False  # whether it was stopped before it ended on its own
    error: str = ""  # why it could not be supervised
    unreadable: str = ""  # why a report could not be read, if any


# --- input -------------------------------------------------------------------


def script_input(work: Work) -> str:
    """Return the standard input of the script for `work`, as JSON."""
    payload = {
        "maintenance": work.maintenance,
        "type": work.type,
        "source": work.source,
        "cause": work.cause,
        "host": work.host,
        "vms": [vm_table(vm) for vm in work.vms],
        "duration_seconds": work.duration,
        "description": work.description,
        "reason": work.reason,
        "removes": work.removes,
        "attempt": work.attempt,
    }
    return json.dumps(payload) + "\n"


def script_environment(work: Work, own: Mapping[str, str]) -> dict[str, str]:
    """Add the variables for `work` to the service's `own` environment.

    The service's own `FOREWARN_` variables are removed. Values too long for a variable
    are omitted.
    """
    variables = {
        "MAINTENANCE": work.maintenance,
        "TYPE": work.type.value,
        "SOURCE": work.source.value,
        "CAUSE": work.cause.value,
        "HOST": work.host or "",
        "VMS": " ".join(vm.name for vm in work.vms),
        "DURATION_SECONDS": str(work.duration),
        "REMOVES": "true" if work.removes else "false",
        "ATTEMPT": str(work.attempt),
        "DESCRIPTION": _plain(work.description),
        "REASON": _plain(work.reason or ""),
    }
    others = {name: value for name, value in own.items() if not name.startswith(PREFIX)}
    return others | {
        PREFIX + name: value
        for name, value in variables.items()
        if len(value.encode()) <= _LONGEST_VARIABLE
    }


def _plain(text: str) -> str:
    return text.replace("\0", "").encode(errors="replace").decode()


# --- results -----------------------------------------------------------------


def reports_of(
    work: Work, reported: AbstractSet[str], result: ScriptResult, timeout: float
) -> Iterator[Printed | Sequence[Report]]:
    """Yield the output and a report for each VM that the script did not report."""
    if result.output:
        yield Printed(text=result.output)
    silent = [vm.name for vm in work.vms if vm.name not in reported]
    is_whole = not (reported or result.is_late or result.is_halted or result.error)
    is_done = is_whole and result.code == 0 and not result.unreadable
    detail = "" if is_done else _detail(result, timeout, has_reports=bool(reported))
    if silent:
        yield [Report(vm=vm, failed=not is_done, detail=detail) for vm in silent]


def _detail(result: ScriptResult, timeout: float, *, has_reports: bool) -> str:
    if result.error:
        return result.error
    if result.is_late:
        return f"took longer than {timeout:.10g} s"
    if result.is_halted:
        return "was stopped"
    if result.unreadable:
        return result.unreadable
    how = _exit_phrase(result.code)
    if has_reports:
        how = f"the script did not report on this VM ({how})"
    last = "" if result.code == 0 else _last_line(result.output)
    return f"{how}: {last}" if last else how


def _exit_phrase(code: int | None) -> str:
    if code is None:
        return "could not be killed, even with SIGKILL"
    if code >= 0:
        return f"exit code {code}"
    try:
        return f"killed by signal {-code} ({Signals(-code).name.removeprefix('SIG')})"
    except ValueError:  # a real-time signal
        return f"killed by signal {-code}"


def _last_line(output: str) -> str:
    lines = output.split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    return last[:_LONGEST_LINE]
