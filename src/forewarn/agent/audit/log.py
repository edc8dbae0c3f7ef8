"""Audit log: one line of JSON for each of the agent's decisions and actions.

1. Lines are added and never changed. If a power cut leaves an incomplete line, the next
   write ends that line.
2. A full file is renamed to `.1`, the previous `.1` to `.2`, and so on. The oldest file
   is deleted.
"""

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import BinaryIO

from forewarn.agent.storage.codec import field_values
from forewarn.agent.storage.store import Disk
from forewarn.errors import Unavailable

_FILE_LIMIT = 10_000_000  # bytes per file
OLDER = 4  # number of full files to keep
_APPEND = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC


class AuditLog:
    """Writes the audit log; only one process may write at a time."""

    def __init__(
        self, path: Path, *, size_limit: int = _FILE_LIMIT, disk: Disk | None = None
    ) -> None:
        """Create a log at `path` whose files are full at `size_limit` bytes."""
        self._path = path
        self._size_limit = size_limit
        self._disk = disk or Disk()

    def write(self, line: Mapping[str, object]) -> None:
        """Append one line; the line is on disk when this returns."""
        text = _encode(line) + b"\n"
        try:
            self._rotate(len(text))
            is_new = not self._path.exists()
            number = self._disk.open(self._path, _APPEND, 0o600)
            try:
                self._append(number, text)
            finally:
                self._disk.close(number)
            if is_new:
                self._disk.sync_folder(self._path.parent)
        except OSError as error:
            why = error.strerror or error
            raise Unavailable(f"cannot write {self._path}: {why}") from error

    def _append(self, number: int, text: bytes) -> None:
        size = os.fstat(number).st_size
        is_incomplete = size > 0 and os.pread(number, 1, size - 1) != b"\n"
        whole = b"\n" + text if is_incomplete else text
        if self._disk.write(number, whole) != len(whole):
            raise OSError(0, "only part of the line was written")
        self._disk.fsync(number)

    def _rotate(self, more: int) -> None:
        try:
            size = self._path.stat().st_size
        except FileNotFoundError:
            return
        if size == 0 or size + more <= self._size_limit:
            return
        for number in range(OLDER, 0, -1):
            with suppress(FileNotFoundError):
                former = _numbered(self._path, number - 1)
                self._disk.replace(former, _numbered(self._path, number))


class AuditLogReader:
    """Reads the audit log, oldest line first, even while the agent appends to it."""

    def __init__(self, path: Path) -> None:
        """Create a reader of the file `path` and any older files next to it."""
        self._path = path
        self.broken = 0  # unreadable lines in the latest iteration

    def exists(self) -> bool:
        """Return whether anything has been written."""
        return any(
            _numbered(self._path, number).exists() for number in range(OLDER + 1)
        )

    def __iter__(self) -> Iterator[Mapping[str, object]]:
        """Yield the lines, skipping invalid ones."""
        self.broken = 0
        with ExitStack() as stack:
            for file in reversed(self._opened(stack)):
                for text in file:
                    line = _decode(text)
                    if line is not None:
                        yield line
                    elif text.strip():
                        self.broken += 1

    def _opened(self, stack: ExitStack) -> list[BinaryIO]:
        """Open the files, newest first.

        In this order, a file renamed in the meantime is not missed. A file found twice
        is read once.
        """
        files: dict[tuple[int, int], BinaryIO] = {}
        for number in range(OLDER + 1):
            with suppress(FileNotFoundError):
                file = stack.enter_context(_numbered(self._path, number).open("rb"))
                info = os.fstat(file.fileno())
                files.setdefault((info.st_dev, info.st_ino), file)
        return [*files.values()]


def _numbered(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number}") if number else path


def _encode(line: Mapping[str, object]) -> bytes:
    try:
        return json.dumps(line, default=field_values, separators=(",", ":")).encode()
    except RecursionError:  # the event is too deeply nested
        return _encode({name: line[name] for name in line if name != "event_as_shown"})


def _decode(text: bytes) -> Mapping[str, object] | None:
    try:
        line = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return line if isinstance(line, dict) else None
