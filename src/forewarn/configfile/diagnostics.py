"""Errors and warnings about the agent's configuration file, with line numbers.

They are collected, so that a user can fix all of them at once.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from forewarn.configfile.toml import KeyLines, KeyPath

_NEAR = 0.6  # minimum similarity, of 1, for a suggestion


@dataclass(slots=True, kw_only=True)
class Diagnostics:
    """All errors and warnings about one file."""

    file: Path
    lines: KeyLines
    _errors: list[tuple[int, str]] = field(default_factory=list)
    _warnings: list[tuple[int, str]] = field(default_factory=list)

    @property
    def errors(self) -> tuple[str, ...]:
        """Errors that prevent the start, one sentence each, ordered by line."""
        return self._sentences(self._errors)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings, one sentence each, ordered by line."""
        return self._sentences(self._warnings)

    def _sentences(self, found: Iterable[tuple[int, str]]) -> tuple[str, ...]:
        in_order = sorted(dict.fromkeys(found), key=lambda complaint: complaint[0])
        return tuple(
            f"{self.file}, line {line}: {sentence}" for line, sentence in in_order
        )

    def add(self, path: KeyPath, sentence: str, *, is_error: bool) -> None:
        """Add a sentence about the value at `path`."""
        kept = self._errors if is_error else self._warnings
        kept.append((self.lines.of(path), sentence))


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """A value in the file, with its label for errors and warnings."""

    complaints: Diagnostics
    path: KeyPath = ()
    label: str = ""  # for example: approve in [[rules]] "reboots"

    @property
    def folder(self) -> Path:
        """The folder of the file; relative paths in the file start there."""
        return self.complaints.file.parent

    def below(self, key: str | int, label: str | None = None) -> "Location":
        """Return the place of `key` in this table or array."""
        return Location(
            complaints=self.complaints,
            path=(*self.path, key),
            label=self.label if label is None else label,
        )

    def key(self, name: str) -> "Location":
        """Return the place of a key in this table, labeled with its name."""
        return self.below(name, f"{name}{self.inside}")

    @property
    def inside(self) -> str:
        """The name of this table, as a suffix to the name of something in it."""
        return f" in {self.label}" if self.label else ""

    def refuse(self, sentence: str) -> None:
        """Add an error: the agent cannot start with this value."""
        self.complaints.add(self.path, self._labelled(sentence), is_error=True)

    def warn(self, sentence: str) -> None:
        """Add a warning: this value is probably a mistake."""
        self.complaints.add(self.path, self._labelled(sentence), is_error=False)

    def _labelled(self, sentence: str) -> str:
        return f"{self.label}: {sentence}" if self.label else sentence


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Return the known word most similar to `word`; None if none is similar."""
    by_lower = {candidate.lower(): candidate for candidate in known}
    matches = get_close_matches(word.lower(), by_lower, 1, _NEAR)
    return by_lower[matches[0]] if matches else None


def suggestion(word: str, known: Iterable[str]) -> str:
    """Return a "did you mean" suffix for a sentence; empty without a similar word."""
    near = nearest(word, known)
    return "" if near is None else f'; did you mean "{near}"?'
