"""State store: one file per event in the agent's locked directory.

1. A state is on disk when `save` returns. A power cut leaves either the old state or
   the new one.
2. Every file starts with a checksum. If the checksum is wrong, the older copy is used
   and the damaged file is moved aside.
3. Only one agent at a time uses the directory. The lock ends with the agent's process.
   An agent whose directory was replaced stops writing and exits when another agent uses
   the new directory.
"""

import errno
import fcntl
import os
import re
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from forewarn.agent.events.observation import normalize_event_id, safe_event_id
from forewarn.agent.events.state import EventState
from forewarn.agent.permissions import permission_problem
from forewarn.agent.storage import codec
from forewarn.errors import CannotStart, Malformed, Unavailable

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC
_LOCK_FILE = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_STATE_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_MODE = 0o600  # hook output is private

_LOCK = "lock"  # the name of the lock file
_LOCK_TIMEOUT = 2.0  # seconds
_LOCK_PAUSE = 0.02  # seconds

_STATE_FILE = re.compile(r"([0-9A-Za-z_-]+)\.json(\.old|\.new)?")
_CHECKED = re.compile(rb"sha256 ([0-9a-f]{64})\n(.*)\n", re.DOTALL)
_NO_LINKS = {errno.EPERM, errno.EOPNOTSUPP, errno.ENOSYS, errno.EMLINK}


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """System calls that change files."""

    open: Callable[[Path, int, int], int] = os.open
    write: Callable[[int, bytes], int] = os.write
    fsync: Callable[[int], None] = os.fsync
    close: Callable[[int], None] = os.close
    link: Callable[[Path, Path], None] = os.link
    replace: Callable[[Path, Path], None] = os.replace
    unlink: Callable[[Path], None] = os.unlink

    def write_file(self, path: Path, content: bytes) -> None:
        """Write `content` to the file `path`; it is on disk when this returns."""
        number = self.open(path, _NEW_FILE, _MODE)
        try:
            left = content
            while left:
                left = left[self.write(number, left) :]
            self.fsync(number)
        finally:
            self.close(number)

    def sync_folder(self, folder: Path) -> None:
        """Sync the directory entries of `folder` to disk."""
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

    states: Mapping[str, EventState]  # keyed by normalized event ID
    problems: tuple[str, ...] = ()  # sentences: what was wrong and what was done


class _Copies:
    """The files of one event."""

    def __init__(self, folder: Path, stem: str) -> None:
        self.stem = stem
        self.current = folder / f"{stem}.json"
        self.older = folder / f"{stem}.json.old"
        self.new = folder / f"{stem}.json.new"
        self.bad = folder / f"{stem}.json.bad"


class StateStore:
    """The directory in which an agent stores event states."""

    def __init__(
        self,
        folder: Path,
        disk: Disk | None = None,
        lock_timeout: float = _LOCK_TIMEOUT,
    ) -> None:
        """Create a store in `folder` that changes files through `disk`.

        `lock_timeout` is how many seconds to wait for another agent to release the
        directory.
        """
        self._folder = folder
        self._events = folder / "events"
        self._disk = disk or Disk()
        self._lock_timeout = lock_timeout
        self._lock: int | None = None

    def open(self) -> None:
        """Create the directory and lock it against use by other agents."""
        try:
            _make_folder(self._folder)
            self._lock = lock_folder(self._folder, self._lock_timeout)
            self._events.mkdir(mode=0o700, exist_ok=True)
            self._disk.sync_folder(self._folder)
        except OSError as error:
            self.close()
            why = error.strerror or error
            raise CannotStart(
                f"cannot use the state directory {self._folder}: {why}"
            ) from error

    def close(self) -> None:
        """Release the directory."""
        if self._lock is not None:
            unlock_folder(self._lock)
            self._lock = None

    def load(self) -> LoadedStates:
        """Load all states; use and report the older copies of damaged ones."""
        states: dict[str, EventState] = {}
        problems: list[str] = []
        files = map(_STATE_FILE.fullmatch, self._names())
        for stem in sorted({file[1] for file in files if file}):
            state, more = self._load(_Copies(self._events, stem))
            problems += more
            if state is not None:
                states[normalize_event_id(state.id)] = state
        return LoadedStates(states=states, problems=tuple(problems))

    def save(self, state: EventState) -> None:
        """Save `state`; it is on disk when this returns.

        On failure, the old state remains.
        """
        self._refuse_replaced()
        copies = _Copies(self._events, _stem(state.id))
        try:
            self._disk.write_file(copies.new, _with_checksum(codec.encode(state)))
            self._keep_older(copies)
            self._disk.replace(copies.new, copies.current)
            self._disk.sync_folder(self._events)
        except OSError as error:
            self._try(self._disk.remove, copies.new)  # it may be what fills the disk
            raise _cannot_write(copies, error) from error

    def delete(self, event_id: str) -> None:
        """Delete the state of an event."""
        self._refuse_replaced()
        copies = _Copies(self._events, _stem(event_id))
        try:
            self._disk.remove(copies.older)  # first, because `load` would use it
            self._disk.remove(copies.current)
            self._disk.sync_folder(self._events)
        except OSError as error:
            raise _cannot_write(copies, error) from error

    @property
    def is_taken(self) -> bool:
        """Return whether another agent has taken over the directory."""
        return self._is_locked_file() is False

    def _refuse_replaced(self) -> None:
        """Raise `Unavailable` if the lock file is no longer the locked file."""
        if not self._is_locked_file():
            raise Unavailable(
                f"{self._folder / _LOCK} was removed or replaced, so another agent may"
                " use the folder; restart this agent"
            )

    def _is_locked_file(self) -> bool | None:
        """Return whether the lock file is the locked file, or None if it is gone."""
        if self._lock is None:
            return True
        try:
            info = os.lstat(self._folder / _LOCK)
        except OSError:
            return None
        return os.path.samestat(info, os.fstat(self._lock))

    def _keep_older(self, copies: _Copies) -> None:
        """Keep the previously saved state as the older copy."""
        self._disk.remove(copies.older)
        try:
            self._disk.link(copies.current, copies.older)
        except FileNotFoundError:
            return  # nothing was saved before
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
            self._disk.replace(copies.current, copies.older)  # where `load` finds it

    def _names(self) -> list[str]:
        try:
            return os.listdir(self._events)
        except OSError as error:
            raise CannotStart(
                f"cannot read {self._events}: {error.strerror}"
            ) from error

    def _load(self, copies: _Copies) -> tuple[EventState | None, list[str]]:
        problems = self._try(self._disk.remove, copies.new)
        latest = _read(copies.current, copies.stem)
        if isinstance(latest, EventState):
            return latest, problems
        former = _read(copies.older, copies.stem)
        if latest is None and former is None:
            return None, problems  # it was never saved
        problems.append(_problem(copies, latest, former))
        if latest is not None:
            problems += self._try(self._disk.replace, copies.current, copies.bad)
        if isinstance(former, EventState):
            # `save` must copy this state, not the damaged one.
            problems += self._try(self._disk.replace, copies.older, copies.current)
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
            return [f"cannot move or remove {paths[0]}: {error.strerror}"]
        return []


def _make_folder(folder: Path) -> None:
    """Create `folder` and its parents; refuse a directory that others could change."""
    for above in reversed(folder.absolute().parents):
        if not above.exists():
            above.mkdir(mode=0o755, exist_ok=True)  # as far as the umask allows
    folder.mkdir(mode=0o700, exist_ok=True)
    problem = permission_problem(folder)
    if problem is not None:
        raise CannotStart(problem)


def _stem(event_id: str) -> str:
    """Return the base name of an event's files: the ID, or a hash of an unsafe ID."""
    return safe_event_id(normalize_event_id(event_id))


def _with_checksum(text: bytes) -> bytes:
    return b"sha256 %s\n%s\n" % (_sha256(text).encode(), text)


def _sha256(text: bytes) -> str:
    from hashlib import sha256  # saves 4 MB of memory in an agent without events

    return sha256(text).hexdigest()


def _read(path: Path, stem: str) -> EventState | str | None:
    """Return the state or a sentence about the problem, or None if there is no file."""
    try:
        with open(os.open(path, _STATE_READ), "rb") as file:
            content = file.read()
    except FileNotFoundError:
        return None
    except OSError as error:
        return str(error.strerror)
    parts = _CHECKED.fullmatch(content)
    if parts is None or _sha256(parts[2]).encode() != parts[1]:
        return "its checksum is wrong" if content.strip(b"\0") else "it is empty"
    try:
        state = codec.decode(parts[2])
    except Malformed as error:
        return str(error)
    return (
        state
        if _stem(state.id) == stem
        else f"it contains the state of event {state.id}"
    )


def _problem(copies: _Copies, latest: object, former: object) -> str:
    wrong = f"cannot use {copies.current}: {latest or 'it is missing'}"
    if isinstance(former, EventState):
        return f"{wrong}; using the older copy"
    lost = f"cannot use the older copy either: {former or 'it is missing'}"
    return f"{wrong}; {lost}; moved both copies aside, so the event is treated as new"


def _cannot_write(copies: _Copies, error: OSError) -> Unavailable:
    return Unavailable(f"cannot write {copies.current}: {error.strerror or error}")


# --- lock --------------------------------------------------------------------


def lock_folder(
    folder: Path, timeout: float, wait: Callable[[float], None] = time.sleep
) -> int:
    """Lock `folder` and return the open lock file; fail if another agent has the lock.

    Wait up to `timeout` seconds for the lock. An agent that was just killed may still
    appear to hold the lock, because a starting hook keeps the agent's files open until
    the hook's own program runs.
    """
    lock = os.open(folder / _LOCK, _LOCK_FILE, 0o600)
    until = time.monotonic() + timeout
    try:
        while not _is_locked(lock):
            if time.monotonic() >= until:
                raise CannotStart(
                    f"{folder} is in use by another agent (process {_holder(lock)})"
                )
            wait(_LOCK_PAUSE)
        os.ftruncate(lock, 0)
        os.pwrite(lock, f"{os.getpid()}\n".encode(), 0)
    except BaseException:
        os.close(lock)
        raise
    return lock


def unlock_folder(lock: int) -> None:
    """Release the directory, even while a hook is starting."""
    fcntl.flock(lock, fcntl.LOCK_UN)
    os.close(lock)


def _is_locked(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _holder(lock: int) -> str:
    text = os.pread(lock, 20, 0).decode(errors="replace").strip()
    return text or "unknown"
