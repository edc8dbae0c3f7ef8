"""Recording file: each line is appended and synced to disk."""

import os
import sys
from pathlib import Path
from typing import Self

from forewarn.errors import CannotStart, Unavailable
from forewarn.recordings.format import (
    Line,
    Recording,
    RecordingHeader,
    parse_recording,
    write_header,
    write_line,
)

#: Maximum size in bytes: about 60,000 changes with 1,000 bytes each.
MAX_SIZE = 64 * 1024 * 1024
_MOST = f"{MAX_SIZE // 1024**2} MiB"

_BINARY = getattr(os, "O_BINARY", 0)  # no carriage return before a line end on Windows


def read_recording(path: Path) -> Recording:
    """Read the recording at `path`, which may be a pipe."""
    try:
        with path.open("rb") as file:
            content = file.read(MAX_SIZE + 1)
    except OSError as error:
        raise CannotStart(f"cannot read {path}: {error.strerror}") from error
    if len(content) > MAX_SIZE:
        raise CannotStart(f"{path} is too large: recordings are limited to {_MOST}")
    return parse_recording(content.decode("utf-8", errors="replace"), str(path))


class RecordingFile:
    """A recording in progress; the file is valid at all times."""

    def __init__(self, path: Path, descriptor: int, header: RecordingHeader) -> None:
        """Create a recording with this `header` in the open file `descriptor`."""
        self.path = path
        self.header = header
        self._descriptor = descriptor
        self._length = os.fstat(descriptor).st_size

    @classmethod
    def create(cls, path: Path, header: RecordingHeader) -> Self:
        """Create a recording; fail if the file exists."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY
        try:
            file = cls(path, os.open(path, flags, 0o600), header)
            file._lock()
        except FileExistsError as error:
            raise CannotStart(
                f"{path} already exists; use --append to continue it, or choose another"
                " name"
            ) from error
        except OSError as error:
            raise CannotStart(f"cannot create {path}: {error.strerror}") from error
        try:
            file._write(write_header(header))
        except Unavailable:
            file.close()
            path.unlink()  # an empty file would make the next attempt fail
            raise
        return file

    @classmethod
    def append_to(cls, path: Path, recording: Recording) -> Self:
        """Reopen the `recording` at `path`; drop an incomplete last line."""
        try:
            file = cls(path, os.open(path, os.O_RDWR | _BINARY), recording.header)
            file._lock()
            file._repair_end(is_cut=recording.is_cut)
        except OSError as error:
            raise CannotStart(f"cannot write {path}: {error.strerror}") from error
        return file

    def add(self, line: Line) -> None:
        """Append a line; it is on disk when this returns."""
        self._write(write_line(line, self.header.began))

    def close(self) -> None:
        """Close the file."""
        os.close(self._descriptor)

    def __enter__(self) -> Self:
        """Return this file; leaving the block closes it."""
        return self

    def __exit__(self, *exception: object) -> None:
        """Close the file."""
        self.close()

    def _lock(self) -> None:
        """Lock the file against other writers while it is open, except on Windows."""
        if sys.platform == "win32":
            return
        import fcntl  # POSIX only

        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.close()
            raise CannotStart(
                f"another recorder is writing to {self.path}; choose another name"
            ) from error
        except OSError:  # the file system has no locks
            return

    def _repair_end(self, *, is_cut: bool) -> None:
        """Remove an incomplete last line, or add its missing line end."""
        content = self.path.read_bytes()
        if is_cut:
            self._length = content.rfind(b"\n") + 1
            os.ftruncate(self._descriptor, self._length)
        os.lseek(self._descriptor, 0, os.SEEK_END)
        if not is_cut and not content.endswith(b"\n"):
            self._write("\n")

    def _write(self, text: str) -> None:
        """Append all of `text`, or nothing."""
        data = text.encode("ascii")
        if self._length + len(data) > MAX_SIZE:
            raise Unavailable(
                f"{self.path} is full: recordings are limited to {_MOST}; continue"
                " in another file"
            )
        try:
            written = 0
            while written < len(data):
                written += os.write(self._descriptor, data[written:])
            os.fsync(self._descriptor)
        except OSError as error:
            os.ftruncate(self._descriptor, self._length)
            os.lseek(self._descriptor, self._length, os.SEEK_SET)  # else a gap follows
            raise Unavailable(
                f"cannot write {self.path}: {error.strerror}; all earlier lines are"
                " saved"
            ) from error
        self._length += len(data)
