"""How many requests the metadata plane has answered, and how.

Only the metadata loop counts; anybody may read. There is one writer, so no count is
lost, and a dictionary is copied in one step, so a reader at worst misses the answer
that is being given.
"""

from collections.abc import Mapping
from typing import NamedTuple

from forewarn.protocol.versions import VERSIONS


class Answered(NamedTuple):
    """What is counted together."""

    route: str
    version: str
    status: int


#: Where requests are counted whose head could not be read.
UNREAD = ("other", "none")


class Counts:
    """Counts answers by route, api-version and status."""

    def __init__(self) -> None:
        """Begin at zero."""
        #: Documents, by version; who gives them counts them here, because a look-up
        #: and a sum is all that he has time for.
        self.given: dict[str, int] = dict.fromkeys(VERSIONS, 0)
        #: Those that the caller had already.
        self.not_modified: dict[str, int] = dict.fromkeys(VERSIONS, 0)
        self._others: dict[Answered, int] = {}

    def add(self, asked: tuple[str, str], status: int) -> None:
        """Count an answer to what was `asked`: a route and a version."""
        kind = Answered(*asked, status)
        self._others[kind] = self._others.get(kind, 0) + 1

    def all(self) -> Mapping[Answered, int]:
        """Tell all counts; from any thread."""
        counted = self._others.copy()
        for status, cells in ((200, self.given), (304, self.not_modified)):
            for version, count in cells.copy().items():
                kind = Answered("scheduledevents", version, status)
                counted[kind] = counted.get(kind, 0) + count
        return counted
