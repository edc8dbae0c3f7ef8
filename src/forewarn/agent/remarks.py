"""One line of the audit record, read by name; what is absent is None or empty.

A record outlives the version that wrote it, and may have been cut by a full disk: so
nothing in it is taken for granted.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime

_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
_LARGEST = 1e12  # of numbers that can be meant
_PRECISE = 10  # seconds, below which tenths are told


@dataclass(frozen=True, slots=True)
class Remark:
    """Something that was written down at one moment."""

    plain: Mapping[str, object]

    @property
    def what(self) -> str:
        """What it is about."""
        return self.text("what") or "?"

    @property
    def event(self) -> str | None:
        """Which event it is about; None: the agent itself."""
        return self.text("event")

    @property
    def at(self) -> datetime | None:
        """When that was; None: it is not told."""
        return self.time("at")

    def text(self, name: str) -> str | None:
        """Read a text; a number is taken as it is written."""
        value = self.plain.get(name)
        return None if value is None or value == "" else str(value)

    def number(self, name: str) -> float | None:
        """Read a number, if it makes any sense."""
        value = self.plain.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return value if -_LARGEST < value < _LARGEST else None

    def is_so(self, name: str) -> bool:
        """Read a truth; what is not told is not so."""
        return self.plain.get(name) is True

    def time(self, name: str) -> datetime | None:
        """Read a time."""
        try:
            found = datetime.fromisoformat(str(self.plain.get(name)))
        except ValueError:
            return None
        return utc(found)

    def names(self, name: str) -> tuple[str, ...]:
        """Read a list of texts."""
        value = self.plain.get(name)
        return tuple(map(str, value)) if isinstance(value, list | tuple) else ()

    def part(self, name: str) -> "Remark":
        """Read an object."""
        value = self.plain.get(name)
        return Remark(value if isinstance(value, dict) else {})


def utc(moment: datetime | None) -> datetime | None:
    """Give `moment` in UTC; None if there is none there."""
    if moment is None or moment.tzinfo is None:
        return moment and moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError:  # in the year 1, or 9999
        return None


def span(seconds: float) -> str:
    """Write a length of time by its two largest units: 14 min 30 s."""
    if 0 < seconds < _PRECISE:
        return f"{seconds:.1f} s".replace(".0 s", " s")
    left, parts = max(round(seconds), 0), []
    for unit, size in _UNITS:
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2]) or "0 s"


def times(count: int) -> str:
    """Say how often: once, twice, 3 times."""
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def listed(names: Sequence[str]) -> str:
    """List names in a sentence: a, b and c."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
