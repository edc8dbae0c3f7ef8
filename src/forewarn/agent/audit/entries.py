"""Audit entries: as the agent writes them, and as they are read back.

An entry is read tolerantly: another version of the agent may have written it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from forewarn.agent.events.state import EventState, HookRun, Impact
from forewarn.protocol.codec import iso8601

_UNITS = (("d", 86_400), ("h", 3_600), ("min", 60), ("s", 1))
_PRECISE = 10  # seconds, below which tenths are shown
_LARGEST = 1e12  # larger numbers are ignored


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One entry, as the agent writes it."""

    at: datetime  # the service's time
    what: str
    event: str | None = None  # None if it is about the agent itself
    details: Mapping[str, object] = field(default_factory=dict)

    def line(self) -> Mapping[str, object]:
        """Return the entry as a JSON object."""
        head = {"at": iso8601(self.at), "event": self.event, "what": self.what}
        return {**head, **self.details}


@dataclass(frozen=True, slots=True)
class RecordedEntry:
    """One entry, as it was read from the audit log."""

    plain: Mapping[str, object]

    @property
    def what(self) -> str:
        """The kind of entry."""
        return self.text("what") or "?"

    @property
    def event(self) -> str | None:
        """The event's id; None if it is about the agent itself."""
        return self.text("event")

    @property
    def at(self) -> datetime | None:
        """When it was written; None if that is missing."""
        return self.time("at")

    def text(self, name: str) -> str | None:
        """Return a text; numbers are converted."""
        value = self.plain.get(name)
        return None if value is None or value == "" else str(value)

    def number(self, name: str) -> float | None:
        """Return a number; None if it is missing or implausible."""
        value = self.plain.get(name)
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return value if -_LARGEST < value < _LARGEST else None

    def is_true(self, name: str) -> bool:
        """Return whether a boolean is true; False if it is missing."""
        return self.plain.get(name) is True

    def time(self, name: str) -> datetime | None:
        """Return a time in UTC; None if it is missing or invalid."""
        try:
            moment = datetime.fromisoformat(str(self.plain.get(name)))
        except ValueError:
            return None
        return utc(moment)

    def names(self, name: str) -> tuple[str, ...]:
        """Return a list of texts."""
        value = self.plain.get(name)
        return tuple(map(str, value)) if isinstance(value, list | tuple) else ()

    def part(self, name: str) -> "RecordedEntry":
        """Return a nested object."""
        value = self.plain.get(name)
        return RecordedEntry(value if isinstance(value, dict) else {})


def event_entry(
    what: str, state: EventState, at: datetime, /, **details: object
) -> AuditEntry:
    """Create an entry about one event."""
    return AuditEntry(at=at, what=what, event=state.id, details=details)


def hook_ended_entry(state: EventState, run: HookRun, at: datetime) -> AuditEntry:
    """Create an entry about the end of a hook."""
    seconds = None if run.ended_at is None else run.ended_at - run.begun_at
    return event_entry(
        "hook-ended",
        state,
        at,
        step=run.step,
        hook=run.hook,
        times=run.times,
        tries=run.tries,
        outcome=run.outcome,
        code=run.code,
        seconds=None if seconds is None else round(seconds.total_seconds(), 3),
        output=run.output,
        reason=run.reason,
    )


def impact_fields(impact: Impact) -> Mapping[str, object]:
    """Return the impact of an event as a JSON object."""
    return {
        "boots": impact.boots,
        "seconds": round(impact.seconds, 3),
        "total": round(impact.total, 3),
    }


# --- formatting --------------------------------------------------------------


def utc(moment: datetime | None) -> datetime | None:
    """Convert `moment` to UTC; None if it is out of range there."""
    if moment is None or moment.tzinfo is None:
        return moment and moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError:  # in the year 1, or 9999
        return None


def format_duration(seconds: float) -> str:
    """Format a duration with its two largest units: 14 min 30 s."""
    if 0 < seconds < _PRECISE:
        return f"{seconds:.1f} s".replace(".0 s", " s")
    left, parts = max(round(seconds), 0), []
    for unit, size in _UNITS:
        count, left = divmod(left, size)
        if count:
            parts.append(f"{count} {unit}")
    return " ".join(parts[:2]) or "0 s"


def format_count(count: int) -> str:
    """Format a count: once, twice, 3 times."""
    return {1: "once", 2: "twice"}.get(count, f"{count} times")


def join_names(names: Sequence[str]) -> str:
    """Join names for a sentence: a, b and c."""
    if len(names) < 2:
        return "".join(names)
    return f"{', '.join(names[:-1])} and {names[-1]}"
