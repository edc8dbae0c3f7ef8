"""Output of `announce`, `vm` and `host`: operations announced, commands to run next."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import zip_longest

from forewarn.cli.answers import Answer, Maintenance
from forewarn.cli.tables import fields, paragraph, some, span, when, write

_HOST_TROUBLES = ("degraded", "host-failure")  # causes ended by `host recovered`


def tell(made: Sequence[Maintenance], now: datetime) -> None:
    """Print what was announced, one maintenance operation after another."""
    _tell("announced", made, now, [None] * len(made))


def tell_preview(
    made: Sequence[Maintenance], now: datetime, explained: Sequence[Answer]
) -> None:
    """Print what would be announced, and what would block its start."""
    _tell("would be announced", made, now, explained)


def _tell(
    verb: str,
    made: Sequence[Maintenance],
    now: datetime,
    explained: Sequence[Answer | None],
) -> None:
    for number, (operation, waits) in enumerate(zip_longest(made, explained), 1):
        place = f" ({number} of {len(made)})" if len(made) > 1 else ""
        write(paragraph(f"{verb}{place}: {operation.title}"))
        write(fields([*_fields(operation, now), *_gates(waits)]))


def _gates(explained: Answer | None) -> Iterator[tuple[str, str | None]]:
    for wait in explained.parts("waits") if explained else ():
        if wait.text("kind") == "gate":
            yield "gate", wait.text("what")


def tell_next(made: Sequence[Maintenance]) -> None:
    """Print the commands that are useful next for the first operation."""
    if made:
        write("\n".join(_next_commands(made[0])))


def _fields(made: Maintenance, now: datetime) -> Iterator[tuple[str, str | None]]:
    groups = tuple(dict.fromkeys(event.group for event in made.events))
    is_known = made.duration is not None and made.duration >= 0
    yield "id", made.id
    yield "starts", _start(made, now)
    yield "lasts", span(made.duration) if is_known and made.duration else None
    yield "told", f"{some(groups)} ({made.source}: {made.description or made.cause})"


def _start(made: Maintenance, now: datetime) -> str:
    if made.phase == "STARTED":
        return "at once, without notice"
    if made.not_before is not None and made.not_before <= now:
        return "as soon as the gates are open"
    latest = when(made.not_before, now)
    return f"when all have approved, at the latest {latest}, unless a gate is shut"


def _next_commands(made: Maintenance) -> Iterator[str]:
    scheduled = made.phase == "SCHEDULED"
    yield "next:"
    yield f"  forewarn events show {made.id}"
    if scheduled:
        yield f"  forewarn events explain {made.id}"
        yield f"  forewarn events approve {made.id}"
    if made.cause in _HOST_TROUBLES:
        yield f"  forewarn host recovered {made.host}"
    else:
        yield f"  forewarn events {'cancel' if scheduled else 'complete'} {made.id}"
    yield "  forewarn journal --follow"
