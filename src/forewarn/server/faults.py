"""Planned misbehaviour of the metadata plane, for rehearsals: which kinds there are.

A fault is written down by whoever wants it, and checked here; `fault_set` decides which
requests it befalls, `befallen` what becomes of them.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeVar

from forewarn.errors import InvalidInput

_Word = TypeVar("_Word", bound=StrEnum)

_DELAY = 5.0
_RETRY_AFTER = 1


class FaultKind(StrEnum):
    """What goes wrong."""

    SLOW_FIRST_CALL = "slow-first-call"  #: each VM's next call is answered late, once
    SLOW = "slow"  #: answered late
    TOO_MANY = "429"  #: with Retry-After
    GONE = "410"
    ERROR = "500"
    UNAVAILABLE = "503"
    RESET = "reset"  #: the connection is reset instead of an answer
    TRUNCATED = "truncated"  #: the connection ends in the middle of the body
    EMPTY = "empty"  #: 200 without a body
    STALE = "stale"  #: the document as it was when the fault began
    REFUSED = "refused"  #: nobody listens


class FaultOn(StrEnum):
    """Which requests it befalls."""

    ANY = "any"
    READ = "read"  #: GET
    APPROVE = "approve"  #: POST


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One misbehaviour; it ends by whichever limit is reached first."""

    kind: FaultKind
    on: FaultOn = FaultOn.ANY
    vms: tuple[str, ...] = ()  # empty: all of them
    count: int | None = None  # how many requests it befalls; None: all
    probability: float = 1.0  # with which it befalls one
    seconds: float | None = None  # of real time that it lasts; None: until cleared
    delay: float = _DELAY  # seconds of real time that a slow answer takes
    retry_after: int = _RETRY_AFTER  # seconds that a 429 or 503 asks to wait


#: Kinds that are late, and kinds that ask to wait.
LATE = frozenset({FaultKind.SLOW, FaultKind.SLOW_FIRST_CALL})
ASKING_TO_WAIT = frozenset({FaultKind.TOO_MANY, FaultKind.UNAVAILABLE})

#: Kinds that befall reads alone: the answer to an approval is empty, and no document.
OF_READS = frozenset({FaultKind.EMPTY, FaultKind.STALE})

_DAY = 86_400
_LONGEST_DELAY = 3_600.0  # seconds

#: What is wrong with a fault, and how to put it right.
_WRONG: Sequence[tuple[Callable[[Fault], bool], str]] = (
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
        lambda fault: not 0 < fault.delay <= _LONGEST_DELAY,
        "a delay is more than 0 seconds and at most an hour",
    ),
    (
        lambda fault: not 0 <= fault.retry_after <= _DAY,
        "Retry-After is 0 seconds or more, and at most a day",
    ),
    (
        lambda fault: fault.kind is FaultKind.REFUSED and fault != _plain(fault),
        "while connections are refused nobody knows who asks for what: `refused` takes"
        " no VMs, no kind of request, no count and no probability; give only how long"
        " it lasts, or clear it",
    ),
    (
        lambda fault: fault.kind in OF_READS and fault.on is FaultOn.APPROVE,
        "the answer to an approval is empty, and no document that could be stale; let"
        " `empty` and `stale` befall reads",
    ),
)


def check(fault: Fault) -> Fault:
    """Answer `fault`, or refuse it with a sentence if it cannot be."""
    for is_wrong, sentence in _WRONG:
        if is_wrong(fault):
            raise InvalidInput(sentence)
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
    """Read a fault as people write it; what is None is as it is by default."""
    found = _word(FaultKind, kind, "kind")
    kinds: Mapping[str, tuple[object, frozenset[FaultKind]]] = {
        "delay": (delay, LATE),
        "retry_after": (retry_after, ASKING_TO_WAIT),
    }
    for name, (value, taking) in kinds.items():
        if value is not None and found not in taking:
            known = " and ".join(sorted(taking))
            raise InvalidInput(f"{found} takes no {name}; only {known} do")
    return check(
        Fault(
            kind=found,
            on=FaultOn.ANY if on is None else _word(FaultOn, on, "on"),
            vms=tuple(vms),
            count=count,
            probability=1.0 if probability is None else probability,
            seconds=seconds,
            delay=_DELAY if delay is None else delay,
            retry_after=_RETRY_AFTER if retry_after is None else retry_after,
        )
    )


def _plain(fault: Fault) -> Fault:
    return Fault(kind=fault.kind, seconds=fault.seconds)


def _word(kind: type[_Word], text: str, name: str) -> _Word:
    try:
        return kind(str(text).lower())
    except ValueError:
        known = ", ".join(each.value for each in kind)
        raise InvalidInput(f"{name} is one of {known}; not {text!r}") from None
