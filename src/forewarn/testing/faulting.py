"""What is to go wrong, as a test writes it."""

from collections.abc import Sequence
from datetime import timedelta
from typing import TypedDict

from forewarn.core.durations import duration_of
from forewarn.server.faults import Fault, fault_of


class FaultOptions(TypedDict, total=False):
    """What can be said of a fault beside its kind; times are real ones."""

    on: str
    vms: Sequence[str]
    count: int
    probability: float
    lasts: str | float | timedelta
    delay: str | float | timedelta
    retry_after: int


def fault_from(kind: str, options: FaultOptions) -> Fault:
    """Read what is to go wrong."""
    vms = options.get("vms", ())
    return fault_of(
        kind,
        on=options.get("on"),
        vms=[vms] if isinstance(vms, str) else vms,
        count=options.get("count"),
        probability=options.get("probability"),
        seconds=_seconds(options.get("lasts")),
        delay=_seconds(options.get("delay")),
        retry_after=options.get("retry_after"),
    )


def _seconds(written: str | float | timedelta | None) -> float | None:
    return None if written is None else duration_of(written).total_seconds()
