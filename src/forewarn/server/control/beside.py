"""What the stream tells beside the facts: the clock, and faults in force.

Neither is in the journal, and so these events have no id: whoever comes back is told
them anew.
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

    #: What time it is: with each sign of life, and whenever it was moved by hand.
    CLOCK = "clock"
    #: What goes wrong on purpose: whenever something else does.
    FAULTS = "faults"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Subject:
    look: Callable[[], Json]
    essence: Callable[[Json], object]  # it is told again when this is different
    is_sign: bool = False  # whether it is told with each sign of life


class Beside:
    """What one follower is told beside the facts."""

    def __init__(self, parts: Parts, holder: Holder, also: Sequence[Also]) -> None:
        """Tell `holder` what he wants told `also`."""
        subjects = _subjects(parts, holder)
        self._subjects = {each: subjects[each] for each in dict.fromkeys(also)}
        self._told: dict[Also, object] = {}

    def news(self) -> Iterator[str]:
        """Tell what is different from what was told; at first, all of it."""
        for name, subject in self._subjects.items():
            view = subject.look()
            essence = subject.essence(view)
            if name not in self._told or self._told[name] != essence:
                self._told[name] = essence
                yield _sent(name, view)

    def signs(self) -> Iterator[str]:
        """Tell what is told with each sign of life."""
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
    """Say which faults there are; how long they last changes by itself."""
    items = faults["items"]
    assert isinstance(items, list)
    return [{**each, "left_seconds": None} for each in items]


def _sent(name: Also, view: Json) -> str:
    return f"event: {name}\ndata: {json.dumps(view)}\n\n"
