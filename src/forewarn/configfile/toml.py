"""TOML files: a reader that knows the line of every key and every error.

`tomllib` does not report the lines of keys. This module scans only text that `tomllib`
has parsed, so the text is well-formed.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any

from forewarn.configfile.values import KeyPath
from forewarn.errors import ForewarnError, InvalidInput

_POSITION = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")

_MAX_MIB = 64
#: The maximum size of a file in bytes, the same as for a fleet sent to the API.
MAX_BYTES = _MAX_MIB * 1024 * 1024

#: The maximum number of parts in a dotted key. The memory and time that `tomllib` needs
#: grow with the square of this number; a 32 kB key needs 1 GB.
_MAX_PARTS = 8
_PART = r"""(?:[A-Za-z0-9_-]++|"(?:\\.|[^"\\\n])*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+"""
_LONG_KEY = re.compile(rf"(?:{_PART}){{{_MAX_PARTS}}}")

_BLANK = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}'
    r"|'''.*?'{3,5}"
    r'|"(?:\\.|[^"\\])*"'
    r"|'[^']*'",
    re.DOTALL,
)
_KEY = re.compile(
    r"""[ \t]*(?:([A-Za-z0-9_-]+)|("(?:\\.|[^"\\])*"|'[^']*'))[ \t]*(\.?)"""
)
_OTHER = re.compile(r"[^,\]}#\n]*")  # a number, a date, true or false
#: A unit in which no key begins: a string, a comment, a word or other text.
_TOKEN = re.compile(
    rf"{_STRING.pattern}|#[^\n]*+|[A-Za-z0-9_-]++|[^\"'#A-Za-z0-9_-]++", re.DOTALL
)


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyLines:
    """The line numbers of a file's keys."""

    by_path: Mapping[KeyPath, int] = field(default_factory=dict)

    def of(self, path: KeyPath) -> int:
        """Return the line of `path`, or of the innermost table that contains it."""
        above = (path[:end] for end in range(len(path), 0, -1))
        return next(
            (self.by_path[prefix] for prefix in above if prefix in self.by_path), 1
        )


def read_bytes(
    path: Path | Traversable,
    error: type[ForewarnError] = InvalidInput,
    *,
    if_missing: str = "",
) -> bytes:
    """Read a file; on failure, raise `error` with the reason.

    `if_missing` is added to the message if the file does not exist.
    """
    try:
        with path.open("rb") as file:
            return file.read(MAX_BYTES + 1)  # `decode` refuses a larger file
    except OSError as problem:
        why = (problem.strerror or str(problem)).lower()
        advice = if_missing if isinstance(problem, FileNotFoundError) else ""
        raise error(f"cannot read {path}: {why}{advice}") from problem


def decode(
    content: bytes, name: object, error: type[ForewarnError] = InvalidInput
) -> str:
    """Decode the text of the file `name` and convert all line ends to line feeds."""
    if len(content) > MAX_BYTES:
        raise error(f"{name} is too large; the maximum is {_MAX_MIB} MiB")
    try:
        return content.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as problem:
        line = content.count(b"\n", 0, problem.start) + 1
        raise error(f"{name}, line {line}: not valid UTF-8") from problem


def parse(
    text: str, name: object, error: type[ForewarnError] = InvalidInput
) -> dict[str, Any]:
    """Parse the text of the file `name`; raise `error` with the line and column."""
    if line := _long_key_line(text):
        raise error(f"{name}, line {line}: a key can have at most {_MAX_PARTS} parts")
    try:
        return tomllib.loads(text)
    except RecursionError as problem:
        raise error(f"{name}, line 1: not valid TOML: nested too deeply") from problem
    except ValueError as problem:
        message = str(problem)
        position = _POSITION.search(message)
        line = int(position[1]) if position and position[1] else text.count("\n") + 1
        column = f", column {position[2]}" if position and position[2] else ""
        what = _POSITION.sub("", message)
        raise error(f"{name}, line {line}{column}: not valid TOML: {what}") from problem


def _long_key_line(text: str) -> int | None:
    """Return the line of the first key with too many parts, or None."""
    if not _LONG_KEY.search(text):  # much faster than matching each token
        return None
    at = 0
    while not _LONG_KEY.match(text, at):
        token = _TOKEN.match(text, at)
        if token is None:  # end of the text, or an unterminated string
            return None
        at = token.end()
    return text.count("\n", 0, at) + 1


def load(
    path: Path | Traversable, error: type[ForewarnError] = InvalidInput
) -> dict[str, Any]:
    """Read and parse a file."""
    return parse(decode(read_bytes(path, error), path, error), path, error)


def lines_of(text: str) -> KeyLines:
    """Return the line of every key and every array entry."""
    scan = _Scan(text)
    scan.run()
    return KeyLines(by_path=scan.lines)


class _Scan:
    """A single pass over the text."""

    def __init__(self, text: str) -> None:
        self.lines: dict[KeyPath, int] = {}
        self._text = text
        self._at = 0
        self._counted = (0, 1)  # offset up to which lines are counted; its line
        self._arrays: dict[KeyPath, int] = {}  # arrays of tables, with their last index

    def run(self) -> None:
        """Scan all tables and their keys."""
        table: KeyPath = ()
        while self._skip_blank():
            if self._skip("[["):
                table = self._header(is_array=True)
            elif self._skip("["):
                table = self._header(is_array=False)
            else:
                self._pair(table)

    def _header(self, *, is_array: bool) -> KeyPath:
        line = self._line()
        *above, last = self._key()
        path: KeyPath = ()
        for part in above:
            path = self._inside((*path, part))
            self._mark(path, line)
        path = (*path, last)
        self._mark(path, line)
        if is_array:
            self._arrays[path] = self._arrays.get(path, -1) + 1
            path = self._inside(path)
            self._mark(path, line)
        self._at += 2 if is_array else 1
        return path

    def _inside(self, path: KeyPath) -> KeyPath:
        index = self._arrays.get(path)
        return path if index is None else (*path, index)

    def _pair(self, table: KeyPath) -> None:
        line = self._line()
        path = table
        for part in self._key():
            path = (*path, part)
            self._mark(path, line)
        self._at += 1  # the equals sign
        self._skip_blank()
        self._value(path)

    def _value(self, path: KeyPath) -> None:
        string = _STRING.match(self._text, self._at)
        if string:
            self._at = string.end()
        elif self._skip("{"):
            for _ in self._entries("}"):
                self._pair(path)
        elif self._skip("["):
            for index in self._entries("]"):
                self._mark((*path, index), self._line())
                self._value((*path, index))
        else:
            literal = _OTHER.match(self._text, self._at)
            # At least one character, so that the scan always ends.
            self._at = max(literal.end() if literal else 0, self._at + 1)

    def _entries(self, end: str) -> Iterator[int]:
        """Move to each entry in turn and yield its index; stop after `end`."""
        index = 0
        while self._skip_blank() and not self._skip(end):
            yield index
            index += 1
            self._skip_blank()
            self._skip(",")

    def _key(self) -> list[str]:
        parts = []
        while part := _KEY.match(self._text, self._at):
            self._at = part.end()
            quoted = part[2]
            parts.append(part[1] or tomllib.loads(f"key = {quoted}")["key"])
            if not part[3]:
                break
        return parts

    def _mark(self, path: KeyPath, line: int) -> None:
        self.lines.setdefault(path, line)

    def _skip_blank(self) -> bool:
        """Skip blanks and comments; return whether any text is left."""
        blank = _BLANK.match(self._text, self._at)
        self._at = blank.end() if blank else self._at
        return self._at < len(self._text)

    def _skip(self, sign: str) -> bool:
        """Skip `sign` if it comes next; return whether `sign` was skipped."""
        is_next = self._text.startswith(sign, self._at)
        self._at += len(sign) if is_next else 0
        return is_next

    def _line(self) -> int:
        so_far, line = self._counted
        self._counted = (self._at, line + self._text.count("\n", so_far, self._at))
        return self._counted[1]
