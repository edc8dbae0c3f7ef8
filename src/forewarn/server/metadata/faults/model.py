"""Fault kinds: planned misbehavior of the metadata plane, for rehearsals.

Faults are parsed and validated here. `active` decides which requests they apply to,
and `injection` applies them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from forewarn.errors import InvalidInput

_Choice = TypeVar("_Choice", bound=StrEnum)

_DELAY = 5.0  # seconds
_MAX_DELAY = 3_600.0  # seconds
_RETRY_AFTER = 1  # seconds
_DAY = 86_400  # seconds


class FaultKind(StrEnum):
    """What goes wrong."""

    SLOW_FIRST_CALL = "slow-first-call"  #: delays the next response to each VM, once
    SLOW = "slow"  #: delays responses
    TOO_MANY = "429"  #: with Retry-After
    GONE = "410"
    ERROR = "500"
    UNAVAILABLE = "503"
    RESET = "reset"  #: resets the connection instead of responding
    TRUNCATED = "truncated"  #: closes the connection in the middle of the body
    EMPTY = "empty"  #: 200 without a body
    STALE = "stale"  #: the document as it was when the fault began
    REFUSED = "refused"  #: refuses connections


#: Kinds that delay responses, and kinds that send Retry-After.
DELAYING = frozenset({FaultKind.SLOW, FaultKind.SLOW_FIRST_CALL})
WITH_RETRY_AFTER = frozenset({FaultKind.TOO_MANY, FaultKind.UNAVAILABLE})

#: Kinds for reads only: the response to an approval is empty and holds no document.
READS_ONLY = frozenset({FaultKind.EMPTY, FaultKind.STALE})


class FaultOn(StrEnum):
    """Which requests a fault applies to."""

    ANY = "any"
    READ = "read"  #: GET
    APPROVE = "approve"  #: POST


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One fault; it ends when the first of its limits is reached."""

    kind: FaultKind
    on: FaultOn = FaultOn.ANY
    vms: tuple[str, ...] = ()  # empty for all VMs
    count: int | None = None  # requests it applies to; None if unlimited
    probability: float = 1.0  # that it applies to a request
    seconds: float | None = None  # of real time; None if it lasts until cleared
    delay: float = _DELAY  # seconds of real time, for slow responses
    retry_after: int = _RETRY_AFTER  # seconds, in a 429 or 503


#: Checks for invalid faults, each with a message that names the remedy.
_INVALID: Sequence[tuple[Callable[[Fault], bool], str]] = (
    (
        lambda fault: fault.count is not None and fault.count < 1,
        "count is how many requests the fault befalls; give 1 or more",
    ),
    (
        lambda fault: not 0 < fault.probability <= 1,
        "probability is more than 0 and at most 1",
    ),
    (
        lambda fault: fault.seconds is not None and not 0 < fault.seconds <= _DAY,
        "a fault lasts more than 0 seconds and at most a day of real time",
    ),
    (
        lambda fault: not 0 < fault.delay <= _MAX_DELAY,
        "a delay is more than 0 seconds and at most an hour",
    ),
    (
        lambda fault: not 0 <= fault.retry_after <= _DAY,
        "Retry-After is 0 seconds or more, and at most a day",
    ),
    (
        lambda fault: (
            fault.kind is FaultKind.REFUSED and fault != _without_limits(fault)
        ),
        "while connections are refused nobody knows who asks for what: `refused` takes"
        " no VMs, no kind of request, no count and no probability; give only how long"
        " it lasts, or clear it",
    ),
    (
        lambda fault: fault.kind in READS_ONLY and fault.on is FaultOn.APPROVE,
        "the answer to an approval is empty, and no document that could be stale; let"
        " `empty` and `stale` befall reads",
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
    seconds: float | None = None,
    delay: float | None = None,
    retry_after: int | None = None,
) -> Fault:
    """Parse a fault as users write it; None stands for the default."""
    fault_kind = _parse_choice(FaultKind, kind, "kind")
    options: Mapping[str, tuple[object, frozenset[FaultKind]]] = {
        "delay": (delay, DELAYING),
        "retry_after": (retry_after, WITH_RETRY_AFTER),
    }
    for name, (value, kinds) in options.items():
        if value is not None and fault_kind not in kinds:
            takers = " and ".join(sorted(kinds))
            raise InvalidInput(f"{fault_kind} takes no {name}; only {takers} do")
    return check_fault(
        Fault(
            kind=fault_kind,
            on=FaultOn.ANY if on is None else _parse_choice(FaultOn, on, "on"),
            vms=tuple(vms),
            count=count,
            probability=1.0 if probability is None else probability,
            seconds=seconds,
            delay=_DELAY if delay is None else delay,
            retry_after=_RETRY_AFTER if retry_after is None else retry_after,
        )
    )


def _without_limits(fault: Fault) -> Fault:
    return Fault(kind=fault.kind, seconds=fault.seconds)


def _parse_choice(choices: type[_Choice], text: str, name: str) -> _Choice:
    try:
        return choices(str(text).lower())
    except ValueError:
        values = ", ".join(member.value for member in choices)
        raise InvalidInput(f"{name} is one of {values}; not {text!r}") from None
