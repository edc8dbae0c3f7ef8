"""Faults as a test writes them."""

from collections.abc import Sequence
from datetime import timedelta
from typing import TypedDict, TypeVar

from forewarn.core.durations import duration_of
from forewarn.errors import InvalidInput
from forewarn.server.faults import Fault, fault_of
from forewarn.testing.orders import refuse_unknown

_Number = TypeVar("_Number", int, float)


class FaultOptions(TypedDict, total=False):
    """Options of a fault besides its kind; times are real."""

    on: str
    vms: Sequence[str]
    count: int
    probability: float
    lasts: str | float | timedelta
    delay: str | float | timedelta
    retry_after: int


def fault_from(kind: str, options: FaultOptions) -> Fault:
    """Build a fault from its kind and options."""
    refuse_unknown(options, FaultOptions)
    vms = options.get("vms", ())
    return fault_of(
        kind,
        on=options.get("on"),
        vms=[vms] if isinstance(vms, str) else vms,
        count=_number("count", options.get("count"), int),
        probability=_number("probability", options.get("probability"), float),
        seconds=_seconds(options.get("lasts")),
        delay=_seconds(options.get("delay")),
        retry_after=_number("retry_after", options.get("retry_after"), int),
    )


def _number(name: str, given: _Number | None, kind: type[_Number]) -> _Number | None:
    """Reject values of other types: tests are not always type-checked."""
    if given is None or (isinstance(given, kind | int) and given is not True):
        return given
    expected = "a whole number" if kind is int else "a number"
    raise InvalidInput(f"{name} is {expected}; not {given!r}")


def _seconds(written: str | float | timedelta | None) -> float | None:
    return None if written is None else duration_of(written).total_seconds()
