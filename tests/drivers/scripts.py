"""Sample scripts, and the work for which they are run."""

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from tests.patience import PATIENCE

from forewarn.core.fleet import VM
from forewarn.core.lifecycle.model import Cause
from forewarn.drivers.script import ScriptDriver
from forewarn.ports import Printed, Report, Work
from forewarn.protocol.types import EventSource, EventType

LONG = PATIENCE

Said = Report | Printed | Sequence[Report]

#: Write a script and make a driver that runs it.
MakeDriver = Callable[..., ScriptDriver]


def a_work(
    *vms: str | VM,
    type: EventType = EventType.REBOOT,
    host: str | None = None,
    duration: int = -1,
    description: str = "Host server is undergoing maintenance.",
    reason: str | None = None,
    attempt: int = 1,
) -> Work:
    """Make work on `vms`, by default web-0 and web-1."""
    return Work(
        maintenance="0000ABCD",
        type=type,
        source=EventSource.PLATFORM,
        cause=Cause.PLATFORM,
        host=host,
        vms=tuple(
            vm if isinstance(vm, VM) else VM(name=vm, group="web")
            for vm in vms or ("web-0", "web-1")
        ),
        duration=duration,
        description=description,
        reason=reason,
        attempt=attempt,
    )


def write_script(path: Path, text: str) -> Path:
    """Write a script for sh, unless its first line names another interpreter."""
    head = "" if text.startswith("#!") else "#!/bin/sh\n"
    path.write_text(head + text)
    path.chmod(0o755)
    return path


def reports(said: Iterable[Said]) -> list[Report]:
    """Return the reports in `said`, with batches flattened."""
    result: list[Report] = []
    for item in said:
        if isinstance(item, Report):
            result.append(item)
        elif not isinstance(item, Printed):
            result += item
    return result


def all_done(said: Iterable[Said]) -> bool:
    """Return whether there are reports and none is a failure."""
    results = reports(said)
    return bool(results) and not any(report.failed for report in results)


def output(said: Iterable[Said]) -> str:
    """Return the printed output."""
    return "".join(item.text for item in said if isinstance(item, Printed))


def is_alive(pid: int) -> bool:
    """Return whether a process runs; zombies do not count."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def descriptors() -> int:
    """Return the number of open files of this process."""
    return len(os.listdir("/proc/self/fd"))
