"""What the metadata plane notices in passing, until a transaction writes it down.

The plane only appends, the engine only takes; both are safe from any thread.
"""

from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TypeVar

from forewarn.core.facts import Sight

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Taken:
    """Notes on their way into the store."""

    asked: Mapping[str, datetime] = field(default_factory=dict)
    sights: Sequence[Sight] = ()

    def __bool__(self) -> bool:
        """Whether there is anything to write."""
        return bool(self.asked or self.sights)


class Notes:
    """Which groups asked and which VMs were shown what, not yet written down."""

    def __init__(self) -> None:
        """Begin without notes."""
        self._asked: deque[tuple[str, datetime]] = deque()
        self._sights: deque[Sight] = deque()

    def ask(self, group: str, at: datetime) -> None:
        """Note that a VM of `group` asked for its document."""
        self._asked.append((group, at))

    def see(self, sight: Sight) -> None:
        """Note that a VM was shown an event."""
        self._sights.append(sight)

    @property
    def are_there(self) -> bool:
        """Whether anything waits to be written."""
        return bool(self._asked or self._sights)

    def take(self) -> Taken:
        """Take all notes; whoever fails to write them must give them back."""
        asked = dict(_drain(self._asked))
        return Taken(asked=asked, sights=_drain(self._sights))

    def give_back(self, taken: Taken) -> None:
        """Put notes back that could not be written."""
        self._asked.extendleft(reversed([*taken.asked.items()]))
        self._sights.extendleft(reversed(taken.sights))


def _drain(queue: deque[_T]) -> list[_T]:
    return [queue.popleft() for _ in range(len(queue))]
