"""Lock on the agent's folder: one agent at a time; it ends with the process."""

import errno
import fcntl
import os
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from forewarn.agent.events.observation import normalize_event_id
from forewarn.agent.events.state import EventState
from forewarn.agent.storage import codec
from forewarn.errors import CannotStart, Malformed, Unavailable

PATIENCE = 2.0  # seconds
_LOOK_AGAIN = 0.02  # seconds


_FRESH = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_MODE = 0o600  # the output of hooks is private


_SAFE = re.compile(r"[0-9A-Z][0-9A-Z-]{0,99}")
_KEPT = re.compile(r"([0-9A-Za-z_-]+)\.json(\.old|\.new)?")
_HEAD = re.compile(rb"sha256 ([0-9a-f]{64})\n(.*)\n", re.DOTALL)
_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


def lock_folder(
    folder: Path, patience: float, wait: Callable[[float], None] = time.sleep
) -> int:
    """Lock `folder` and return the open lock file; fail if another agent has it.

    It waits up to `patience` seconds for an agent that was just killed: a hook that was
    being started keeps the agent's files open until its own program runs.
    """
    held = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    end = time.monotonic() + patience
    try:
        while not _is_locked(held):
            if time.monotonic() >= end:
                raise CannotStart(
                    f"{folder} is in use by another agent, process {_holder(held)}"
                )
            wait(_LOOK_AGAIN)
        os.ftruncate(held, 0)
        os.pwrite(held, f"{os.getpid()}\n".encode(), 0)
    except BaseException:
        os.close(held)
        raise
    return held


def unlock_folder(held: int) -> None:
    """Release the folder, even while a hook is being started."""
    fcntl.flock(held, fcntl.LOCK_UN)
    os.close(held)


def _is_locked(held: int) -> bool:
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(held: int) -> str:
    text = os.pread(held, 20, 0).decode(errors="replace").strip()
    return text or "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """The calls that change files."""

    open: Callable[[Path, int, int], int] = os.open
    write: Callable[[int, bytes], int] = os.write
    fsync: Callable[[int], None] = os.fsync
    close: Callable[[int], None] = os.close
    link: Callable[[Path, Path], None] = os.link
    replace: Callable[[Path, Path], None] = os.replace
    unlink: Callable[[Path], None] = os.unlink

    def fill(self, path: Path, content: bytes) -> None:
        """Write `content` to the file `path`; it is on disk when this returns."""
        number = self.open(path, _FRESH, _MODE)
        try:
            left = content
            while left:
                left = left[self.write(number, left) :]
            self.fsync(number)
        finally:
            self.close(number)

    def settle(self, folder: Path) -> None:
        """Sync the names in `folder` to disk."""
        number = self.open(folder, _FOLDER, 0)
        try:
            self.fsync(number)
        finally:
            self.close(number)

    def remove(self, path: Path) -> None:
        """Remove `path` if it exists."""
        with suppress(FileNotFoundError):
            self.unlink(path)


@dataclass(frozen=True, slots=True, kw_only=True)
class LoadedStates:
    """The states found on disk."""

    states: Mapping[str, EventState]  # by the `key` of their ids
    complaints: tuple[str, ...] = ()  # what was wrong and what was done, as sentences


class _Copies:
    """The files of one event."""

    def __init__(self, folder: Path, stem: str) -> None:
        self.stem = stem
        self.whole = folder / f"{stem}.json"
        self.older = folder / f"{stem}.json.old"
        self.fresh = folder / f"{stem}.json.new"
        self.bad = folder / f"{stem}.json.bad"


class StateStore:
    """The folder in which an agent stores the state of events."""

    def __init__(
        self, folder: Path, disk: Disk | None = None, patience: float = PATIENCE
    ) -> None:
        """Store states in `folder` via the calls of `disk`.

        `patience` is how many seconds another agent may take to release the folder.
        """
        self._folder = folder
        self._events = folder / "events"
        self._disk = disk or Disk()
        self._patience = patience
        self._held: int | None = None

    def open(self) -> None:
        """Create and lock the folder: no other agent may use it meanwhile."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._held = lock_folder(self._folder, self._patience)
            self._events.mkdir(mode=0o700, exist_ok=True)
            self._disk.settle(self._folder)
        except OSError as error:
            self.close()
            why = error.strerror or error
            raise CannotStart(
                f"nothing can be kept in {self._folder}: {why}"
            ) from error

    def close(self) -> None:
        """Release the folder."""
        if self._held is not None:
            unlock_folder(self._held)
            self._held = None

    def load(self) -> LoadedStates:
        """Read every state; use the older copy of broken ones and report it."""
        states: dict[str, EventState] = {}
        complaints: list[str] = []
        names = self._names()
        stems = {match_[1] for name in names if (match_ := _KEPT.fullmatch(name))}
        for stem in sorted(stems):
            state, problems = self._load(_Copies(self._events, stem))
            complaints += problems
            if state is not None:
                states[normalize_event_id(state.id)] = state
        return LoadedStates(states=states, complaints=tuple(complaints))

    def save(self, state: EventState) -> None:
        """Save `life`; it is on disk when this returns, else the old state stays."""
        copies = _Copies(self._events, _stem(state.id))
        try:
            self._disk.fill(copies.fresh, _sealed(codec.encode(state)))
            self._keep_older(copies)
            self._disk.replace(copies.fresh, copies.whole)
            self._disk.settle(self._events)
        except OSError as error:
            self._try(self._disk.remove, copies.fresh)  # it may be what fills the disk
            raise _cannot(copies, error) from error

    def forget(self, event_id: str) -> None:
        """Delete the state of an event."""
        copies = _Copies(self._events, _stem(event_id))
        try:
            self._disk.remove(copies.older)  # first: alone, it would be used
            self._disk.remove(copies.whole)
            self._disk.settle(self._events)
        except OSError as error:
            raise _cannot(copies, error) from error

    def _keep_older(self, copies: _Copies) -> None:
        """Keep the previously saved state as the older copy."""
        self._disk.remove(copies.older)
        try:
            self._disk.link(copies.whole, copies.older)
        except FileNotFoundError:
            return  # nothing was saved before
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

    def _load(self, copies: _Copies) -> tuple[EventState | None, list[str]]:
        problems = self._try(self._disk.remove, copies.fresh)
        latest = _read(copies.whole, copies.stem)
        if isinstance(latest, EventState):
            return latest, problems
        former = _read(copies.older, copies.stem)
        if latest is None and former is None:
            return None, problems  # it was never saved
        problems.append(_complaint(copies, latest, former))
        if latest is not None:
            problems += self._try(self._disk.replace, copies.whole, copies.bad)
        if isinstance(former, EventState):
            # `save` must copy this state, not the broken one.
            problems += self._try(self._disk.replace, copies.older, copies.whole)
            return former, problems
        if former is not None:
            aside = copies.bad.with_suffix(".bad.old")
            problems += self._try(self._disk.replace, copies.older, aside)
        return None, problems

    def _try(self, change: Callable[..., None], *paths: Path) -> list[str]:
        """Make an optional change; return a sentence if it fails."""
        try:
            change(*paths)
        except OSError as error:
            return [f"{paths[0]} cannot be moved or removed: {error.strerror}"]
        return []


def _stem(event_id: str) -> str:
    """Return the base name of an event's files: its id, or a hash if that is unsafe."""
    name = normalize_event_id(event_id)
    if _SAFE.fullmatch(name):
        return name
    return f"sha256_{_sum(name.encode(errors='surrogatepass'))}"


def _sealed(text: bytes) -> bytes:
    return b"sha256 %s\n%s\n" % (_sum(text).encode(), text)


def _sum(text: bytes) -> str:
    from hashlib import sha256  # 4 MB of memory that an agent without events saves

    return sha256(text).hexdigest()


def _read(path: Path, stem: str) -> EventState | str | None:
    """Return the state, or what is wrong with the file; None if there is no file."""
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
        state = codec.decode(parts[2])
    except Malformed as error:
        return str(error)
    return state if _stem(state.id) == stem else f"it is about event {state.id}"


def _complaint(copies: _Copies, found: object, former: object) -> str:
    wrong = f"{copies.whole} cannot be used: {found or 'it is missing'}"
    if isinstance(former, EventState):
        return f"{wrong}; the older copy is used"
    lost = f"nor can the older copy: {former or 'it is missing'}"
    return f"{wrong}; {lost}; both are moved aside, and the event is new again"


def _cannot(copies: _Copies, error: OSError) -> Unavailable:
    return Unavailable(f"{copies.whole} cannot be written: {error.strerror or error}")
