"""What is wrong with the agent's file, each with its line.

All of it is gathered, so that a person mends the file once.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path

from forewarn.agent.lines import KeyPath, Lines

_NEAR = 0.6  # how alike two words are, of 1, that one may be meant for the other


@dataclass(slots=True, kw_only=True)
class Complaints:
    """Everything that was found in one file."""

    file: Path
    lines: Lines
    _errors: list[tuple[int, str]] = field(default_factory=list)
    _warnings: list[tuple[int, str]] = field(default_factory=list)

    @property
    def errors(self) -> tuple[str, ...]:
        """What must be mended, a sentence each, in the order of the lines."""
        return self._sentences(self._errors)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What is odd, in the same manner."""
        return self._sentences(self._warnings)

    def _sentences(self, found: Iterable[tuple[int, str]]) -> tuple[str, ...]:
        in_order = sorted(dict.fromkeys(found), key=lambda each: each[0])
        return tuple(f"{self.file}, line {line}: {said}" for line, said in in_order)

    def add(self, path: KeyPath, sentence: str, *, is_error: bool) -> None:
        """Complain of what stands at `path`."""
        kept = self._errors if is_error else self._warnings
        kept.append((self.lines.of(path), sentence))


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A value in the file, and how it is called in a complaint."""

    complaints: Complaints
    path: KeyPath = ()
    label: str = ""  # such as: approve in [[rules]] "reboots"

    @property
    def folder(self) -> Path:
        """Where the file is, and what paths in it begin with."""
        return self.complaints.file.parent

    def below(self, key: str | int, label: str | None = None) -> "Place":
        """Go on to what is called `key` in this table or array."""
        return Place(
            complaints=self.complaints,
            path=(*self.path, key),
            label=self.label if label is None else label,
        )

    def key(self, name: str) -> "Place":
        """Go on to a key of this table."""
        return self.below(name, f"{name}{self.inside}")

    @property
    def inside(self) -> str:
        """Say which table this is, after a name of something in it."""
        return f" in {self.label}" if self.label else ""

    def refuse(self, sentence: str) -> None:
        """Say that the agent cannot start with what stands here."""
        self.complaints.add(self.path, self._labelled(sentence), is_error=True)

    def warn(self, sentence: str) -> None:
        """Say that what stands here is hardly meant."""
        self.complaints.add(self.path, self._labelled(sentence), is_error=False)

    def _labelled(self, sentence: str) -> str:
        return f"{self.label}: {sentence}" if self.label else sentence


def nearest(word: str, known: Iterable[str]) -> str | None:
    """Find what may have been meant by `word`; None: nothing is like it."""
    by_lower = {each.lower(): each for each in known}
    found = get_close_matches(word.lower(), by_lower, 1, _NEAR)
    return by_lower[found[0]] if found else None


def meant(word: str, known: Iterable[str]) -> str:
    """Ask whether something near was meant, as the end of a sentence."""
    near = nearest(word, known)
    return "" if near is None else f'; did you mean "{near}"?'
