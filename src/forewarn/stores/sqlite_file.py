"""Files of a SQLite database, which are locked, private, and watched for changes.

1. Two locks keep other services out. The first lock is on `forewarn.db-lock`, found
   by its path; this lock protects a path even if the database was moved away. The
   second lock is on the database itself, whether the database is reached by a hard
   link, a symbolic link, another mount or another container. Removing the first lock
   does not make it possible to start a second service.
2. Both are flock(2) locks, which local file systems keep separate from SQLite's POSIX
   locks. NFS emulates flock(2) locks with POSIX locks, so the two could conflict there,
   but WAL mode does not support network file systems anyway.
3. When a process closes any descriptor of a file, the operating system drops all of the
   process's POSIX locks on that file. The database's descriptor is therefore opened
   before SQLite opens the file, and closed after SQLite has closed it. A file that this
   process has locked is refused without being opened again.
4. SQLite writes the database only in our own commits. If the size or modification time
   changes between two commits, another program has written to the database.
5. The lock file contains the journal's position after the last commit, so that the
   service can report when it starts with an older copy, or with a database whose log
   was deleted. The lock file also contains the database's size and modification
   time at that moment, because a log left by a killed service continues only that file.
6. A backup does not use a log. A log next to a backup belongs to the database that was
   there before and may contain the only copy of acknowledged commits, so it is never
   deleted.
"""

import fcntl
import logging
import os
import stat
from contextlib import suppress
from pathlib import Path
from threading import Lock

from forewarn.errors import CannotStart, Unavailable

_SUFFIXES = ("-wal", "-shm")  # suffixes of the files that SQLite adds
_DIGITS = 20  # bytes of a position in the lock file
_MODE_AT = 18  # offset of the mode in a database
_WAL_MODE = b"\2\2"  # mode of a database that uses a log

_Identity = tuple[int, int]  # device and inode

_locked: set[_Identity] = set()  # databases locked by this process
_gate = Lock()  # guards `_locked`

_log = logging.getLogger(__name__)


class DatabaseFile:
    """The files of one database, from `lock` to `unlock`."""

    def __init__(self, path: str) -> None:
        """Create an interface to the files of the database at `path`."""
        self._path = path
        self._real = path  # links resolved: SQLite puts its other files there
        self._descriptors: list[int] = []
        self._identity: _Identity | None = None  # None unless locked
        self._files: dict[str, _Identity] = {}  # by path
        self._written: tuple[int, int] | None = None  # size and time after a commit
        self._mode = b""  # whether the database uses a log
        #: Whether the database has a log and was written to between the last commit and
        #: `lock`.
        self.was_overwritten = False

    def lock(self) -> None:
        """Lock the database and create the file if there is none.

        Only the owner can read a new file. Raise `CannotStart` on failure.
        """
        self._real = os.path.realpath(self._path)
        try:
            Path(self._path).parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._open_and_lock(f"{self._real}-lock")
            self._refuse_lost_database()
            refuse_other_log(self._path)
            with _gate:
                if os.path.exists(self._path) and _identity(self._path) in _locked:
                    raise BlockingIOError
                self._open_and_lock(self._path)
                self._identity = _identity(self._descriptors[-1])
                _locked.add(self._identity)
            self.was_overwritten = self._has_log_of_another_state()
        except BlockingIOError:
            self.unlock()
            raise CannotStart(
                f"{self._path} is in use by another forewarn process; stop it, or"
                " choose another file with --store"
            ) from None
        except OSError as error:
            self.unlock()
            raise CannotStart(
                f"cannot write {error.filename or self._path}: {error.strerror}; choose"
                " another location with --store"
            ) from error
        except BaseException:
            self.unlock()
            raise

    def unlock(self) -> None:
        """Unlock the database, after all its connections were closed."""
        for descriptor in self._descriptors:
            os.close(descriptor)
        self._descriptors, self._files, self._written = [], {}, None
        if self._identity is not None:
            with _gate:
                _locked.discard(self._identity)
            self._identity = None

    def remember(self, position: int) -> None:
        """Remember the files currently at the database's paths as the open files.

        Log a warning if the journal was previously at a later position than `position`.
        """
        paths = [self._path, *(f"{self._real}{suffix}" for suffix in _SUFFIXES)]
        self._files = {path: _identity(path) for path in paths}
        self._mode = self._read_mode()
        self._make_private()
        kept = _position(os.pread(self._descriptors[0], _DIGITS, 0))
        if kept > position:
            _log.warning(
                "the journal in %s ends at position %d, but had reached position %d,"
                " possibly because a backup was restored; the later entries are lost",
                *(self._path, position, kept),
            )
        self.note_commit(position)

    def note_commit(self, position: int) -> None:
        """Remember the database's state after one of our commits."""
        status = os.fstat(self._descriptors[-1])
        self._written = status.st_size, status.st_mtime_ns
        if self._files:  # open
            with suppress(OSError):  # the commit is safe, and this is only a hint
                os.pwrite(self._descriptors[0], _note(position, *self._written), 0)

    def refuse_replaced(self) -> None:
        """Raise `Unavailable` if the open files were replaced by others."""
        for path, known in self._files.items():
            try:
                found = _identity(path)
            except OSError:
                found = None
            if found != known:
                raise Unavailable(
                    f"the store cannot be written to: {path} was"
                    f" {'replaced' if found else 'moved or deleted'} while the"
                    " service was running; put the file back, or restart forewarn"
                )

    def is_overwritten(self) -> bool:
        """Return whether another program wrote the database since our last commit."""
        status = os.fstat(self._descriptors[-1])
        return self._written not in (None, (status.st_size, status.st_mtime_ns))

    def is_backup(self) -> bool:
        """Return whether another program copied a backup over the database."""
        return bool(self._files) and self._read_mode() != self._mode

    def size(self) -> int:
        """Return the size of the database in bytes."""
        return os.fstat(self._descriptors[-1]).st_size

    def _read_mode(self) -> bytes:
        return os.pread(self._descriptors[-1], 2, _MODE_AT)

    def _open_and_lock(self, path: str) -> None:
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        self._descriptors.append(os.open(path, flags, 0o600))
        fcntl.flock(self._descriptors[-1], fcntl.LOCK_EX | fcntl.LOCK_NB)

    def _refuse_lost_database(self) -> None:
        """Refuse a log without a database, because SQLite would delete the log."""
        log = f"{self._real}-wal"
        if _size(self._real) == 0 and _size(log) > 0:
            raise CannotStart(
                f"{self._path} is missing or empty, but the latest commits are in"
                f" {log}; put the database back, or move {log} to another directory"
                " to start with a backup or an empty database"
            )

    def _has_log_of_another_state(self) -> bool:
        status = os.fstat(self._descriptors[-1])
        expected = _note(0, status.st_size, status.st_mtime_ns)
        kept = os.pread(self._descriptors[0], len(expected), 0)
        is_noted = len(kept) == len(expected)  # earlier releases: position only
        is_same = kept[_DIGITS:] == expected[_DIGITS:]
        return is_noted and not is_same and _size(f"{self._real}-wal") > 0

    def _make_private(self) -> None:
        """Remove other users' access to the database."""
        was_public = False
        try:
            for path in self._files:
                mode = stat.S_IMODE(os.stat(path).st_mode)
                if mode & stat.S_IRWXO:
                    os.chmod(path, mode & ~stat.S_IRWXO)
                    was_public = True
        except OSError as error:
            problem = f"cannot remove their access: {error.strerror}"
            _log.warning("%s is readable by all users; %s", self._path, problem)
        if was_public:
            _log.warning(
                "%s was readable by all users; removed other users' access", self._path
            )


def has_other_log(path: str) -> bool:
    """Return whether `path` is a backup next to the log of a replaced database.

    Our copies use no log until a service opens them.
    """
    if _size(path) == 0 or _size(log_of(path)) == 0:
        return False
    with _gate:
        if _identity(path) in _locked:
            return False
        with open(path, "rb") as file:
            file.seek(_MODE_AT)
            return file.read(2) != _WAL_MODE


def refuse_other_log(path: str) -> None:
    """Raise `CannotStart` for another database's log, which SQLite would mix in."""
    if has_other_log(path):
        log = log_of(path)
        raise CannotStart(
            f"{path} is a restored backup, but {log} still contains commits from the"
            " previous database. To keep the commits that are missing from the"
            " backup, run `forewarn store backup FILE`, which combines the two in"
            f" FILE. To discard them, move {log} to another directory"
        )


def log_of(path: str) -> str:
    """Return the path of the log for the database at `path`."""
    return f"{os.path.realpath(path)}-wal"


def kept_position(path: str) -> int:
    """Return the position after the last commit at `path`, or 0 if unknown."""
    try:
        return _position(Path(f"{os.path.realpath(path)}-lock").read_bytes()[:_DIGITS])
    except OSError:
        return 0


def _note(position: int, size: int, modified: int) -> bytes:
    """Return the contents of the lock file."""
    return b" ".join(b"%0*d" % (_DIGITS, one) for one in (position, size, modified))


def _position(kept: bytes) -> int:
    return int(kept) if kept.isdigit() else 0


def _identity(place: str | int) -> _Identity:
    status = os.stat(place)
    return status.st_dev, status.st_ino


def _size(path: str) -> int:
    """Return the size of the file at `path`, or 0 if there is none."""
    try:
        return os.stat(path).st_size
    except FileNotFoundError:
        return 0
