"""Simulated power cut: what a disk may hold, derived from the calls before it.

1. A file holds what was written when it was last synced. Of later writes it holds all,
   half, zeros or nothing.
2. A folder holds the names it had when it was last synced, and any of the changes made
   since.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import combinations
from pathlib import Path

from forewarn.agent.storage.store import Disk

Names = dict[str, int]  # of files, by number


@dataclass(frozen=True, slots=True)
class _File:
    synced: bytes = b""
    wet: bytes | None = None  # unsynced content; None if everything is synced

    def outcomes(self) -> set[bytes]:
        if self.wet is None:
            return {self.synced}
        half = self.wet[: len(self.wet) // 2]
        return {self.synced, self.wet, half, b"\0" * len(self.wet)}


@dataclass(frozen=True, slots=True)
class _DiskState:
    """The disk at one moment: certain content, and possible changes."""

    names: Names
    files: dict[int, _File]
    changes: tuple[tuple[str, str, str], ...] = ()  # verb, from, to


@dataclass(slots=True)
class PowerCutRecorder:
    """Makes calls in a folder and records what a power cut after each would leave."""

    folder: Path
    moments: list[_DiskState] = field(default_factory=list)
    _open: dict[int, int] = field(default_factory=dict)  # -1 for the folder itself
    _live: Names = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Start with the current content of the folder."""
        paths = sorted(self.folder.iterdir())
        self._live = {path.name: number for number, path in enumerate(paths)}
        files = {n: _File(path.read_bytes()) for n, path in enumerate(paths)}
        self.moments.append(_DiskState(dict(self._live), files))

    def disk(self) -> Disk:
        """Return the recorded system calls."""
        return Disk(
            open=self._opened,
            write=self._written,
            fsync=self._synced,
            link=self._linked,
            replace=self._replaced,
            unlink=self._unlinked,
        )

    def _note(
        self,
        files: dict[int, _File] | None = None,
        change: tuple[str, str, str] | None = None,
    ) -> None:
        last = self.moments[-1]
        changes = (*last.changes, change) if change else last.changes
        files = {**last.files, **(files or {})}
        self.moments.append(_DiskState(last.names, files, changes))

    def _opened(self, path: Path, flags: int, mode: int) -> int:
        opened = os.open(path, flags, mode)
        if path == self.folder:
            self._open[opened] = -1
            return opened
        number = self._live.get(path.name, len(self.moments[-1].files))
        self._open[opened] = number
        is_new = path.name not in self._live
        self._live[path.name] = number
        existing = self.moments[-1].files.get(number, _File())
        change = ("make", str(number), path.name) if is_new else None
        self._note({number: _File(existing.synced, b"")}, change)
        return opened

    def _written(self, opened: int, text: bytes) -> int:
        number = self._open[opened]
        existing = self.moments[-1].files[number]
        self._note({number: _File(existing.synced, (existing.wet or b"") + text)})
        return os.write(opened, text)

    def _synced(self, opened: int) -> None:
        number, last = self._open[opened], self.moments[-1]
        if number == -1:
            self.moments.append(_DiskState(dict(self._live), last.files))
        else:
            existing = last.files[number]
            synced = existing.synced if existing.wet is None else existing.wet
            self._note({number: _File(synced)})

    def _linked(self, old: Path, new: Path) -> None:
        os.link(old, new)
        self._live[new.name] = self._live[old.name]
        self._note(change=("link", old.name, new.name))

    def _replaced(self, old: Path, new: Path) -> None:
        os.replace(old, new)
        self._live[new.name] = self._live.pop(old.name)
        self._note(change=("replace", old.name, new.name))

    def _unlinked(self, path: Path) -> None:
        os.unlink(path)
        del self._live[path.name]
        self._note(change=("unlink", path.name, ""))


def leftovers(moment: _DiskState) -> Iterator[dict[str, bytes]]:
    """Yield every content of the folder that a power cut at `moment` may leave."""
    changes = moment.changes
    for size in range(len(changes) + 1):
        for survived in combinations(changes, size):
            names = _after(moment.names, survived)
            for wet in range(4):
                yield {
                    name: sorted(outcomes)[wet % len(outcomes)]
                    for name, number in names.items()
                    for outcomes in [moment.files[number].outcomes()]
                }


def _after(names: Names, changes: tuple[tuple[str, str, str], ...]) -> Names:
    changed = dict(names)
    for verb, old, new in changes:
        if verb == "make":
            changed[new] = int(old)
        elif verb == "unlink":
            changed.pop(old, None)
        elif verb == "replace" and old in changed:
            changed[new] = changed.pop(old)
        elif verb == "link" and old in changed:
            changed.setdefault(new, changed[old])
    return changed
