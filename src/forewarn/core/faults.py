"""Fault kinds: planned misbehavior of the metadata plane, for rehearsals.

1. `FaultKind` is the only list of kinds. The API, command line, scenario files, metrics
   and portal are derived from it.
2. Faults are parsed and validated here. `server.metadata.faults` decides which requests
   are affected and applies the faults.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Self

from forewarn.configfile.values import read_choice
from forewarn.errors import InvalidInput

_DELAY = 5.0  # seconds
_MAX_DELAY = 3_600.0  # seconds
_RETRY_AFTER = 1  # seconds
_DAY = 86_400  # seconds


class FaultTrait(StrEnum):
    """A special property of a fault kind: an additional option or a limited scope."""

    DELAY = "delay"
    RETRY_AFTER = "retry_after"
    READS = "reads"  #: applies to reads only, as approvals return no document
    SERVICE = "service"  #: applies to all connections, before a request is read


class FaultKind(StrEnum):
    """The kinds of faults."""

    text: str  # what happens to requests, for the portal
    help: str  # on the command line; kinds with the same help share a line
    trait: FaultTrait | None  # None for most kinds

    def __new__(
        cls, value: str, text: str, help_text: str, trait: FaultTrait | None = None
    ) -> Self:
        """Define a kind from its row in the table below."""
        kind = str.__new__(cls, value)
        kind._value_ = value
        kind.text, kind.help, kind.trait = text, help_text, trait
        return kind

    SLOW_FIRST_CALL = (
        "slow-first-call",
        "first response to each VM delayed",
        "delay only the next response to each VM",
        FaultTrait.DELAY,
    )
    SLOW = "slow", "response delayed", "delay responses", FaultTrait.DELAY
    TOO_MANY = (
        "429",
        "429 Too Many Requests",
        "return an error with Retry-After; approvals have no effect",
        FaultTrait.RETRY_AFTER,
    )
    GONE = (
        "410",
        "410 Gone",
        "return an error without Retry-After; approvals have no effect",
    )
    ERROR = (
        "500",
        "500 Internal Server Error",
        "return an error without Retry-After; approvals have no effect",
    )
    UNAVAILABLE = (
        "503",
        "503 Service Unavailable",
        "return an error with Retry-After; approvals have no effect",
        FaultTrait.RETRY_AFTER,
    )
    RESET = (
        "reset",
        "connection reset",
        "reset the connection; approvals still take effect",
    )
    TRUNCATED = (
        "truncated",
        "response cut off in the middle",
        "close the connection mid-response; approvals still take effect",
    )
    EMPTY = (
        "empty",
        "response without a body",
        "return 200 without a body (reads only)",
        FaultTrait.READS,
    )
    ERROR_BODY = (
        "error-body",
        "JSON error instead of a document",
        "return 200 with a JSON error instead of a document (reads only)",
        FaultTrait.READS,
    )
    STALE = (
        "stale",
        "outdated document",
        "keep returning the current document after changes (reads only)",
        FaultTrait.READS,
    )
    REFUSED = (
        "refused",
        "connection refused",
        "refuse connections (supports only --duration)",
        FaultTrait.SERVICE,
    )


def takers(option: FaultTrait) -> str:
    """Return the names of the kinds that support `option`, joined by "and"."""
    return " and ".join(sorted(kind for kind in FaultKind if kind.trait is option))


class FaultOn(StrEnum):
    """The requests that a fault applies to."""

    ANY = "any"
    READ = "read"  #: GET
    APPROVE = "approve"  #: POST


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """A fault, which ends when it reaches any of its limits."""

    kind: FaultKind
    on: FaultOn = FaultOn.ANY
    vms: tuple[str, ...] = ()  # empty for all VMs
    count: int | None = None  # requests it applies to; None if unlimited
    probability: float = 1.0  # the probability that it applies to a request
    duration: float | None = None  # seconds of real time; None: until cleared
    delay: float = _DELAY  # seconds of real time, for slow responses
    retry_after: int = _RETRY_AFTER  # seconds, in a 429 or 503

    @property
    def text(self) -> str:
        """What happens to the requests that the fault applies to."""
        parts = [self.kind.text]
        if self.kind.trait is FaultTrait.DELAY:
            parts.append(f"by {self.delay:.15g} s")
        if self.probability < 1:
            parts.append(f"(probability {self.probability:.0%})")
        return " ".join(parts)


#: Validity checks for faults, each with an error message that states the remedy.
_INVALID: Sequence[tuple[Callable[[Fault], bool], str]] = (
    (
        lambda fault: fault.count is not None and fault.count < 1,
        "count must be at least 1: it is the number of requests to fault",
    ),
    (
        lambda fault: not 0 < fault.probability <= 1,
        "probability must be more than 0 and at most 1",
    ),
    (
        lambda fault: fault.duration is not None and not 0 < fault.duration <= _DAY,
        "a fault must last more than 0 seconds and at most a day, in real time",
    ),
    (
        lambda fault: not 0 < fault.delay <= _MAX_DELAY,
        "the delay must be more than 0 seconds and at most an hour",
    ),
    (
        lambda fault: not 0 <= fault.retry_after <= _DAY,
        "Retry-After must be at least 0 seconds and at most a day",
    ),
    (
        lambda fault: (
            fault.kind.trait is FaultTrait.SERVICE
            and fault != Fault(kind=fault.kind, duration=fault.duration)
        ),
        "`refused` affects all connections, before any request is read, so it"
        " accepts a duration, but not VMs, `on`, a count or a probability",
    ),
    (
        lambda fault: (
            fault.kind.trait is FaultTrait.READS and fault.on is FaultOn.APPROVE
        ),
        "`empty`, `error-body` and `stale` apply only to reads, because the"
        " response to an approval has no document; omit `on`, or set it to read",
    ),
)


def check_fault(fault: Fault) -> Fault:
    """Return `fault` if it is valid; otherwise raise `InvalidInput`."""
    for is_invalid, message in _INVALID:
        if is_invalid(fault):
            raise InvalidInput(message)
    return fault


def fault_of(
    kind: str,
    *,
    on: str | None = None,
    vms: Sequence[str] = (),
    count: int | None = None,
    probability: float | None = None,
    duration: float | None = None,
    delay: float | None = None,
    retry_after: int | None = None,
) -> Fault:
    """Parse a fault entered by a user. None means the default."""
    fault_kind = read_choice(FaultKind, kind, "kind")
    options = {FaultTrait.DELAY: delay, FaultTrait.RETRY_AFTER: retry_after}
    for option, value in options.items():
        if value is not None and fault_kind.trait is not option:
            raise InvalidInput(
                f"{fault_kind} does not accept {option}; only {takers(option)} do"
            )
    return check_fault(
        Fault(
            kind=fault_kind,
            on=FaultOn.ANY if on is None else read_choice(FaultOn, on, "on"),
            vms=tuple(vms),
            count=count,
            probability=1.0 if probability is None else probability,
            duration=duration,
            delay=_DELAY if delay is None else delay,
            retry_after=_RETRY_AFTER if retry_after is None else retry_after,
        )
    )
