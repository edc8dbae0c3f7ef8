"""How many requests the metadata plane has answered, and how.

Only the metadata loop counts; anybody may read. There is one writer, so no count is
lost; numbers are read and a dictionary is copied in one step, so a reader at worst
misses the answer that is being given.
"""

from collections.abc import Mapping
from typing import NamedTuple

from forewarn.protocol.versions import VERSIONS


class Answered(NamedTuple):
    """What is counted together."""

    route: str
    version: str
    status: int


class Cell:
    """Documents in one version; a sum is all that there is time for."""

    __slots__ = ("given", "not_modified")

    def __init__(self) -> None:
        """Begin at zero."""
        self.given = 0
        self.not_modified = 0


#: Where requests are counted whose head could not be read.
UNREAD = ("other", "none")


class Counts:
    """Counts answers by route, api-version and status."""

    def __init__(self) -> None:
        """Begin at zero."""
        #: By version; whoever asks for a document has his cell at hand.
        self.cells: Mapping[str, Cell] = {name: Cell() for name in VERSIONS}
        self._others: dict[Answered, int] = {}

    def add(self, asked: tuple[str, str], status: int) -> None:
        """Count an answer to what was `asked`: a route and a version."""
        kind = Answered(*asked, status)
        self._others[kind] = self._others.get(kind, 0) + 1

    def all(self) -> Mapping[Answered, int]:
        """Tell all counts; from any thread."""
        counted = self._others.copy()
        for version, cell in self.cells.items():
            for status, count in ((200, cell.given), (304, cell.not_modified)):
                kind = Answered("scheduledevents", version, status)
                counted[kind] = counted.get(kind, 0) + count
        return counted
