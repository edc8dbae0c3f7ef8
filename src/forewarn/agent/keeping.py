"""The lives of events, kept on disk: one file for each, and an older copy of it.

Rules of this file:

1. At every moment, what was saved last is there whole: the new file is written beside
   it, and takes its name when the disk has it.
2. A file tells by a checksum whether it is whole. If it is not, the older copy is used;
   if that is not either, the event is forgotten. What is broken is moved aside, not
   thrown away, and it is said.
3. One agent at a time: the folder is held by a lock, which ends with its process.
"""

import errno
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from forewarn.agent import holding, written
from forewarn.agent.disk import Disk
from forewarn.agent.lives import Life
from forewarn.agent.sighting import key
from forewarn.errors import CannotStart, Malformed, Unavailable

_SAFE = re.compile(r"[0-9A-Z][0-9A-Z-]{0,99}")
_KEPT = re.compile(r"([0-9A-Za-z_-]+)\.json(\.old|\.new)?")
_HEAD = re.compile(rb"sha256 ([0-9a-f]{64})\n(.*)\n", re.DOTALL)
_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """What was found on the disk."""

    lives: Mapping[str, Life]  # by the `key` of their ids
    complaints: tuple[str, ...] = ()  # what was wrong, and what was done, in sentences


class _Copies:
    """The files of one event."""

    def __init__(self, folder: Path, stem: str) -> None:
        self.stem = stem
        self.whole = folder / f"{stem}.json"
        self.older = folder / f"{stem}.json.old"
        self.fresh = folder / f"{stem}.json.new"
        self.bad = folder / f"{stem}.json.bad"


class Keeping:
    """The folder in which an agent keeps what it knows."""

    def __init__(
        self, folder: Path, disk: Disk | None = None, patience: float = holding.PATIENCE
    ) -> None:
        """Keep lives in `folder`, by the calls of `disk`.

        `patience` is how many seconds an agent may take to let go of the folder.
        """
        self._folder = folder
        self._events = folder / "events"
        self._disk = disk or Disk()
        self._patience = patience
        self._held: int | None = None

    def open(self) -> None:
        """Make the folder, and hold it: no other agent may use it meanwhile."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._held = holding.hold(self._folder, self._patience)
            self._events.mkdir(mode=0o700, exist_ok=True)
            self._disk.settle(self._folder)
        except OSError as error:
            self.close()
            why = error.strerror or error
            raise CannotStart(
                f"nothing can be kept in {self._folder}: {why}"
            ) from error

    def close(self) -> None:
        """Let another agent have the folder."""
        if self._held is not None:
            holding.let_go(self._held)
            self._held = None

    def load(self) -> Loaded:
        """Read every life; use older copies of what is broken, and say so."""
        lives: dict[str, Life] = {}
        complaints: list[str] = []
        names = self._names()
        stems = {found[1] for name in names if (found := _KEPT.fullmatch(name))}
        for stem in sorted(stems):
            life, said = self._load(_Copies(self._events, stem))
            complaints += said
            if life is not None:
                lives[key(life.id)] = life
        return Loaded(lives=lives, complaints=tuple(complaints))

    def save(self, life: Life) -> None:
        """Keep `life`: the disk has it when this returns, and the former one if not."""
        copies = _Copies(self._events, _stem(life.id))
        try:
            self._disk.fill(copies.fresh, _sealed(written.encode(life)))
            self._keep_older(copies)
            self._disk.replace(copies.fresh, copies.whole)
            self._disk.settle(self._events)
        except OSError as error:
            self._try(self._disk.remove, copies.fresh)  # it may be what fills the disk
            raise _cannot(copies, error) from error

    def forget(self, event_id: str) -> None:
        """Keep nothing of the event any more."""
        copies = _Copies(self._events, _stem(event_id))
        try:
            self._disk.remove(copies.older)  # first: alone, it would be used
            self._disk.remove(copies.whole)
            self._disk.settle(self._events)
        except OSError as error:
            raise _cannot(copies, error) from error

    def _keep_older(self, copies: _Copies) -> None:
        """Give what was saved last a second name."""
        self._disk.remove(copies.older)
        try:
            self._disk.link(copies.whole, copies.older)
        except FileNotFoundError:
            return  # nothing was
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            self._disk.replace(copies.whole, copies.older)  # where `load` finds it

    def _names(self) -> list[str]:
        try:
            return os.listdir(self._events)
        except OSError as error:
            raise CannotStart(
                f"{self._events} cannot be read: {error.strerror}"
            ) from error

    def _load(self, copies: _Copies) -> tuple[Life | None, list[str]]:
        said = self._try(self._disk.remove, copies.fresh)
        found = _read(copies.whole, copies.stem)
        if isinstance(found, Life):
            return found, said
        former = _read(copies.older, copies.stem)
        if found is None and former is None:
            return None, said  # it was never saved
        said.append(_complaint(copies, found, former))
        if found is not None:
            said += self._try(self._disk.replace, copies.whole, copies.bad)
        if isinstance(former, Life):
            # `save` is to keep a copy of it, not of what is broken.
            said += self._try(self._disk.replace, copies.older, copies.whole)
            return former, said
        if former is not None:
            aside = copies.bad.with_suffix(".bad.old")
            said += self._try(self._disk.replace, copies.older, aside)
        return None, said

    def _try(self, change: Callable[..., None], *paths: Path) -> list[str]:
        """Make a change that can be done without; give a sentence if it fails."""
        try:
            change(*paths)
        except OSError as error:
            return [f"{paths[0]} cannot be moved or removed: {error.strerror}"]
        return []


def _stem(event_id: str) -> str:
    """Name the files of an event: by its id, unless that makes no good name."""
    name = key(event_id)
    if _SAFE.fullmatch(name):
        return name
    return f"sha256_{_sum(name.encode(errors='surrogatepass'))}"


def _sealed(text: bytes) -> bytes:
    return b"sha256 %s\n%s\n" % (_sum(text).encode(), text)


def _sum(text: bytes) -> str:
    from hashlib import sha256  # four megabytes that an agent without events can spare

    return sha256(text).hexdigest()


def _read(path: Path, stem: str) -> Life | str | None:
    """Read a life; say what is wrong with the file; None if there is none."""
    try:
        sealed = path.read_bytes()
    except FileNotFoundError:
        return None
    except OSError as error:
        return str(error.strerror)
    parts = _HEAD.fullmatch(sealed)
    if parts is None or _sum(parts[2]).encode() != parts[1]:
        return "it is not whole" if sealed.strip(b"\0") else "it is empty"
    try:
        life = written.decode(parts[2])
    except Malformed as error:
        return str(error)
    return life if _stem(life.id) == stem else f"it is about event {life.id}"


def _complaint(copies: _Copies, found: object, former: object) -> str:
    wrong = f"{copies.whole} cannot be used: {found or 'it is missing'}"
    if isinstance(former, Life):
        return f"{wrong}; the older copy is used"
    lost = f"nor can the older copy: {former or 'it is missing'}"
    return f"{wrong}; {lost}; both are moved aside, and the event is new again"


def _cannot(copies: _Copies, error: OSError) -> Unavailable:
    return Unavailable(f"{copies.whole} cannot be written: {error.strerror or error}")
