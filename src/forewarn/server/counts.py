"""Counters of metadata responses, by route, api-version and status.

Only the metadata loop counts; any thread may read. With a single writer, no count is
lost. Numbers are read, and dictionaries copied, in one step, so a reader misses at
most the response that is being sent.
"""

from collections.abc import Mapping
from typing import NamedTuple

from forewarn.protocol.versions import VERSIONS


class Answered(NamedTuple):
    """The labels of one counter."""

    route: str
    version: str
    status: int


class Cell:
    """Document responses in one version, as plain sums for the hot path."""

    __slots__ = ("given", "not_modified")

    def __init__(self) -> None:
        """Start at zero."""
        self.given = 0
        self.not_modified = 0


#: Route and version under which requests with an unreadable head are counted.
UNREAD = ("other", "none")


class Counts:
    """Counts responses by route, api-version and status."""

    def __init__(self) -> None:
        """Start at zero."""
        #: By version. Each parsed request for a document keeps a reference to its cell.
        self.cells: Mapping[str, Cell] = {name: Cell() for name in VERSIONS}
        self._others: dict[Answered, int] = {}

    def add(self, asked: tuple[str, str], status: int) -> None:
        """Count a response with `status`; `asked` is a route and a version."""
        kind = Answered(*asked, status)
        self._others[kind] = self._others.get(kind, 0) + 1

    def all(self) -> Mapping[Answered, int]:
        """Return all counts; safe from any thread."""
        counted = self._others.copy()
        for version, cell in self.cells.items():
            for status, count in ((200, cell.given), (304, cell.not_modified)):
                kind = Answered("scheduledevents", version, status)
                counted[kind] = counted.get(kind, 0) + count
        return counted
