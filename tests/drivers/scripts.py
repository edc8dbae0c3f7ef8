"""Scripts to run, and the works they are run for."""

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from forewarn.core.fleet import VM
from forewarn.core.maintenance import Cause
from forewarn.drivers.script import ScriptDriver
from forewarn.ports import Printed, Report, Work
from forewarn.protocol.types import EventSource, EventType

LONG = 10.0  # seconds; only what is broken needs them

Said = Report | Printed | Sequence[Report]

#: Writes a script, and makes a driver that runs it.
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
    """Work on `vms`, or on web-0 and web-1."""
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
    """Write a script in sh, or in what its first line says."""
    head = "" if text.startswith("#!") else "#!/bin/sh\n"
    path.write_text(head + text)
    path.chmod(0o755)
    return path


def reports(said: Iterable[Said]) -> list[Report]:
    """The reports among what was `said`, those that came together one by one."""
    found: list[Report] = []
    for each in said:
        if isinstance(each, Report):
            found.append(each)
        elif not isinstance(each, Printed):
            found += each
    return found


def output(said: Iterable[Said]) -> str:
    """What was printed."""
    return "".join(each.text for each in said if isinstance(each, Printed))


def is_alive(pid: int) -> bool:
    """Whether a process runs; a dead one that nobody buries does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def descriptors() -> int:
    """How many files this process has open."""
    return len(os.listdir("/proc/self/fd"))
