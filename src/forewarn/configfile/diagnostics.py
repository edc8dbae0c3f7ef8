"""Errors and warnings about a configuration file, with line numbers.

All errors and warnings are collected, so that a user can fix them together.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path

from forewarn.configfile.toml import KeyLines
from forewarn.configfile.values import KeyPath, Problem


@dataclass(slots=True, kw_only=True)
class Diagnostics:
    """All errors and warnings about one file."""

    file: Path
    lines: KeyLines
    _errors: list[tuple[int, str]] = field(default_factory=list)
    _warnings: list[tuple[int, str]] = field(default_factory=list)

    @property
    def errors(self) -> tuple[str, ...]:
        """Errors that prevent startup, one sentence each, ordered by line."""
        return self._sentences(self._errors)

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings, one sentence each, ordered by line."""
        return self._sentences(self._warnings)

    def add(self, path: KeyPath, sentence: str, *, is_error: bool) -> None:
        """Add a sentence about the value at `path`."""
        messages = self._errors if is_error else self._warnings
        messages.append((self.lines.of(path), sentence))

    def _sentences(self, messages: Iterable[tuple[int, str]]) -> tuple[str, ...]:
        by_line = sorted(dict.fromkeys(messages), key=lambda message: message[0])
        return tuple(
            f"{self.file}, line {line}: {sentence}" for line, sentence in by_line
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Location:
    """A value in the file, with its label for errors and warnings."""

    diagnostics: Diagnostics
    path: KeyPath = ()
    label: str = ""  # for example: approve in [[rules]] "reboots"

    @property
    def folder(self) -> Path:
        """The file's directory, to which paths in the file are relative."""
        return self.diagnostics.file.parent

    def below(self, key: str | int, label: str | None = None) -> "Location":
        """Return the location of `key` in this table or array."""
        return Location(
            diagnostics=self.diagnostics,
            path=(*self.path, key),
            label=self.label if label is None else label,
        )

    def key(self, name: str) -> "Location":
        """Return the location of a key in this table, labeled with its name."""
        inside = f" in {self.label}" if self.label else ""
        return self.below(name, f"{name}{inside}")

    def refuse(self, sentence: str) -> None:
        """Add an error: the file cannot be used with this value."""
        self.diagnostics.add(self.path, self._labeled(sentence), is_error=True)

    def refuse_parts(self, problems: Iterable[Problem]) -> None:
        """Add an error for each problem in a part of this value."""
        for path, sentence in problems:
            part = self
            for key in path:
                part = part.below(key) if isinstance(key, int) else part.key(key)
            part.refuse(sentence)

    def warn(self, sentence: str) -> None:
        """Add a warning: this value is probably a mistake."""
        self.diagnostics.add(self.path, self._labeled(sentence), is_error=False)

    def _labeled(self, sentence: str) -> str:
        return f"{self.label}: {sentence}" if self.label else sentence
