"""Side events of the journal stream: the clock and active faults.

Neither is in the journal, so these events have no id: a client that reconnects receives
them again.
"""

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from forewarn.engine.tokens import Holder
from forewarn.server.control.asked import Parts
from forewarn.server.control.clock import clock_view
from forewarn.server.control.faults import faults_view
from forewarn.server.control.views import Json


class Also(StrEnum):
    """What can be told beside the facts."""

    #: The time: with each keep-alive, and whenever the clock was moved by hand.
    CLOCK = "clock"
    #: The active faults: whenever they change.
    FAULTS = "faults"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Subject:
    look: Callable[[], Json]
    essence: Callable[[Json], object]  # the event is sent again when this changes
    is_sign: bool = False  # whether it is sent with each keep-alive


class Beside:
    """Side events for one client of the stream."""

    def __init__(self, parts: Parts, holder: Holder, also: Sequence[Also]) -> None:
        """Send `holder` the side events that `also` lists."""
        subjects = _subjects(parts, holder)
        self._subjects = {name: subjects[name] for name in dict.fromkeys(also)}
        self._told: dict[Also, object] = {}

    def news(self) -> Iterator[str]:
        """Yield the events that have changed since they were sent; at first, all."""
        for name, subject in self._subjects.items():
            view = subject.look()
            essence = subject.essence(view)
            if name not in self._told or self._told[name] != essence:
                self._told[name] = essence
                yield _sent(name, view)

    def signs(self) -> Iterator[str]:
        """Yield the events that are sent with each keep-alive."""
        for name, subject in self._subjects.items():
            if subject.is_sign:
                yield _sent(name, subject.look())


def _subjects(parts: Parts, holder: Holder) -> Mapping[Also, _Subject]:
    def faults() -> Json:
        listed = (
            faults_view(parts.plane.faults)["items"] if holder.group is None else []
        )
        return {"items": listed}

    return {
        Also.CLOCK: _Subject(
            look=lambda: clock_view(parts.engine.clock),
            essence=lambda view: view["now"] if view["clock"] == "manual" else None,
            is_sign=True,
        ),
        Also.FAULTS: _Subject(look=faults, essence=_which),
    }


def _which(faults: Json) -> object:
    """Return the faults without their remaining time, which changes by itself."""
    items = faults["items"]
    assert isinstance(items, list)
    return [{**item, "left_seconds": None} for item in items]


def _sent(name: Also, view: Json) -> str:
    return f"event: {name}\ndata: {json.dumps(view)}\n\n"
