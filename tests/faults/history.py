"""History of a trial: what clients, VMs, the driver and a webhook receiver saw.

Times are seconds of `now`, a clock that all processes of the machine share.
"""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

#: The fault that is an outage. While the program is killed, a fast clock stands still.
OUTAGE = "frozen for a minute"


def now() -> float:
    """Return the seconds since the machine was started, as in /proc/uptime."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Outcome(StrEnum):
    """What a client knows about its request."""

    #: 2xx: it was done.
    OK = "ok"
    #: 4xx, or a refusal that promises it: it was not done.
    FAIL = "fail"
    #: No response, or one that permits both.
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One request of a client that may change something."""

    kind: str  # such as announce, approve-as-vm, cancel
    target: str  # the VM, host, event or maintenance
    token: str  # text that is part of the request and of no other command
    key: str | None = None  # Idempotency-Key; repeated attempts share it
    vm: str | None = None  # the VM that approves
    is_emergency: bool = False
    invoked: float
    returned: float
    outcome: Outcome
    status: int = 0  # 0 if there was no response
    ids: tuple[str, ...] = ()  # maintenance in the response
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Poll:
    """One GET of a VM, and its response."""

    vm: str
    version: str
    invoked: float
    returned: float
    status: int  # 0 if there was no response
    tag: str = ""  # of the response
    body: bytes = b""
    wait: float = 0.0  # seconds for which the service may hold it


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverRun:
    """A script that the driver started; written by the script itself."""

    maintenance: str
    attempt: int
    vms: tuple[str, ...]
    begun: float
    shared: tuple[str, ...] = ()  # VMs that another script was working on


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A message that the webhook receiver accepted or refused."""

    at: float
    position: int
    entry: Any
    events: Any  # as the entry left them
    is_accepted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class InjectedFault:
    """A fault of the nemesis, from its begin until everything was right again."""

    kind: str
    begun: float
    ended: float
    is_down: bool = False  # whether the service could not respond meanwhile
    complaint: str = ""  # what the program did wrong


@dataclass(slots=True, kw_only=True)
class History:
    """Everything that the judge needs."""

    operations: list[Operation] = field(default_factory=list)
    polls: list[Poll] = field(default_factory=list)
    runs: list[DriverRun] = field(default_factory=list)
    deliveries: list[Delivery] = field(default_factory=list)
    faults: list[InjectedFault] = field(default_factory=list)
    journal: Sequence[Any] = ()
    maintenances: Sequence[Any] = ()  # at the end
    report: Mapping[str, Any] = field(default_factory=dict)  # /v1/report
