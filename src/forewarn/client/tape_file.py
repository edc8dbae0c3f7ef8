"""A tape as a file: written line by line, each of them on the disk before the next."""

import os
from pathlib import Path
from types import TracebackType
from typing import Self

from forewarn.client.tape_reading import read
from forewarn.client.tapes import Header, Line, Tape, write_header, write_line
from forewarn.errors import CannotStart, Unavailable


def read_tape(path: Path) -> Tape:
    """Read the tape at `path`."""
    try:
        text = path.read_text("utf-8", errors="replace")
    except OSError as error:
        raise CannotStart(f"{path} cannot be read: {error.strerror}") from error
    return read(text, str(path))


class TapeFile:
    """A tape that is written to; what is on it is valid at any moment."""

    def __init__(self, path: Path, number: int, header: Header) -> None:
        """Write to the open file `number`, which has that `header`."""
        self.path = path
        self.header = header
        self._number = number
        self._length = os.fstat(number).st_size

    @classmethod
    def make(cls, path: Path, header: Header) -> Self:
        """Begin a new tape; one that is there is left alone."""
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
        try:
            made = cls(path, os.open(path, flags, 0o600), header)
            made._hold()
        except FileExistsError as error:
            raise CannotStart(
                f"{path} is there already; --append goes on with it, or choose another"
                " name"
            ) from error
        except OSError as error:
            raise CannotStart(f"{path} cannot be made: {error.strerror}") from error
        try:
            made.put(write_header(header))
        except Unavailable:
            made.close()
            path.unlink()  # it has nothing on it, and would be in the way
            raise
        return made

    @classmethod
    def go_on(cls, path: Path, tape: Tape) -> Self:
        """Go on with `tape`, which is at `path`, behind its last whole line."""
        try:
            number = os.open(path, os.O_RDWR)
            made = cls(path, number, tape.header)
            made._hold()
            made._mend(is_cut=tape.is_cut)
        except OSError as error:
            raise CannotStart(f"{path} cannot be written: {error.strerror}") from error
        return made

    def _hold(self) -> None:
        """Keep others from writing to it, as long as it is open."""
        if os.name != "posix":
            return
        import fcntl  # not everywhere

        try:
            fcntl.flock(self._number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            self.close()
            raise CannotStart(
                f"{self.path} is being written by another recording; choose another"
                " name"
            ) from error
        except OSError:  # a file system without locks
            return

    def _mend(self, *, is_cut: bool) -> None:
        """Take out a line that breaks off, or give the last one its end."""
        kept = self.path.read_bytes()
        if is_cut:
            self._length = kept.rfind(b"\n") + 1
            os.ftruncate(self._number, self._length)
        os.lseek(self._number, 0, os.SEEK_END)
        if not is_cut and not kept.endswith(b"\n"):
            self.put("\n")

    def add(self, line: Line) -> None:
        """Write a line; return when it is on the disk."""
        self.put(write_line(line, self.header.began))

    def put(self, text: str) -> None:
        """Write `text`, all of it or nothing."""
        data = text.encode("ascii")
        try:
            written = 0
            while written < len(data):
                written += os.write(self._number, data[written:])
            os.fsync(self._number)
        except OSError as error:
            os.ftruncate(self._number, self._length)
            os.lseek(self._number, self._length, os.SEEK_SET)  # else a gap follows
            raise Unavailable(
                f"{self.path} cannot be written: {error.strerror}; what was recorded"
                " so far is on it"
            ) from error
        self._length += len(data)

    def close(self) -> None:
        """Close the file."""
        os.close(self._number)

    def __enter__(self) -> Self:
        """Be closed at the end of the block."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """Close."""
        self.close()
