"""Planned misbehaviour of the metadata plane, for rehearsals."""

from dataclasses import dataclass
from enum import StrEnum


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
    delay: float = 5.0  # seconds of real time that a slow answer takes
    retry_after: int = 1  # seconds that a 429 or 503 asks to wait
