"""Audit entries: one class for each kind and a reader for recorded entries.

1. Each class has the same fields as its kind in the log, in the same order.
2. Recorded entries may come from another version of the agent. A value that is
   missing or has the wrong type is read as None, an empty value or "?". An entry of an
   unknown kind becomes an `UnknownEntry`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from functools import cache
from typing import Any, ClassVar, get_args

from forewarn.agent.events.state import HookOutcome, Impact
from forewarn.agent.storage.codec import field_values
from forewarn.protocol.codec import iso8601

_LARGEST = 1e12  # larger numbers are ignored


@dataclass(frozen=True, slots=True, kw_only=True)
class _Entry:
    what: ClassVar[str]  # the kind, as in the log
    at: datetime | None  # service time; None if a recorded entry lacks it
    event: str | None = None  # None if the entry is about the agent itself

    def line(self) -> Mapping[str, object]:
        """Return the entry as a JSON object."""
        at = None if self.at is None else iso8601(self.at)
        head = {"at": at, "event": self.event, "what": self.what}
        return {**head, **field_values(self), **head}


# --- events ------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenEntry(_Entry):
    """An event was seen for the first time."""

    what = "seen"
    event_as_shown: Mapping[str, object]
    incarnation: int
    notice_seconds: float | None  # None if unknown
    mine: bool
    leader: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class CameBackEntry(_Entry):
    """An event that was gone has reappeared in the document."""

    what = "came-back"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecidedEntry(_Entry):
    """A rule was chosen for an event."""

    what = "decided"
    rule: str | None  # None if no rule matches
    why: tuple[str, ...]
    approve: str | None  # None if no rule matches
    hooks: Mapping[str, tuple[str, ...]]  # names, keyed by step


@dataclass(frozen=True, slots=True, kw_only=True)
class HookBeganEntry(_Entry):
    """A hook was started."""

    what = "hook-began"
    step: str
    hook: str
    times: int
    seconds_left: float | None  # None if only the hook's timeout limits it


@dataclass(frozen=True, slots=True, kw_only=True)
class HookEndedEntry(_Entry):
    """A hook ended after its last try."""

    what = "hook-ended"
    step: str
    hook: str
    times: int
    tries: int
    outcome: str
    code: float | None  # None if the hook could not be run
    seconds: float | None  # None if unknown
    output: str | None
    reason: str | None

    @property
    def is_done(self) -> bool:
        """Return whether the hook succeeded."""
        return self.outcome == HookOutcome.DONE


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalSentEntry(_Entry):
    """An approval is about to be sent."""

    what = "approval-sent"


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovedEntry(_Entry):
    """The service accepted an approval."""

    what = "approved"
    answer: str | None
    notice_seconds_given: float | None  # None if unknown
    notice_seconds_used: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ApprovalFailedEntry(_Entry):
    """The service did not accept an approval."""

    what = "approval-failed"
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NotApprovedEntry(_Entry):
    """An event is not approved yet."""

    what = "not-approved"
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class StartedEntry(_Entry):
    """An event was seen as Started."""

    what = "started"
    early: bool
    approved_elsewhere: bool
    without_notice: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class GoneEntry(_Entry):
    """An event is no longer in the document."""

    what = "gone"
    after_start: bool
    canceled: bool
    impact: Impact
    announced_seconds: float | None  # None if unknown


@dataclass(frozen=True, slots=True, kw_only=True)
class OverEntry(_Entry):
    """No more work remains for an event."""

    what = "over"
    outcome: str | None


# --- the agent itself --------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class BeganEntry(_Entry):
    """The agent was started."""

    what = "began"
    version: str | None
    endpoint: str | None
    dry_run: bool
    recovered: tuple[str, ...]  # IDs of unfinished events
    complaints: tuple[str, ...]  # problems with stored states


@dataclass(frozen=True, slots=True, kw_only=True)
class EndedEntry(_Entry):
    """The agent was stopped."""

    what = "ended"


@dataclass(frozen=True, slots=True, kw_only=True)
class BlindEntry(_Entry):
    """No document could be read for a while."""

    what = "blind"
    seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SeesAgainEntry(_Entry):
    """A document was read again after a period without one."""

    what = "sees-again"
    seconds: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class NameMismatchEntry(_Entry):
    """The agent's name for this VM no longer matches, or matches again."""

    what = "name-mismatch"
    reason: str | None  # None if the names match again


#: An entry that this version of the agent can write.
AuditEntry = (
    SeenEntry
    | CameBackEntry
    | DecidedEntry
    | HookBeganEntry
    | HookEndedEntry
    | ApprovalSentEntry
    | ApprovedEntry
    | ApprovalFailedEntry
    | NotApprovedEntry
    | StartedEntry
    | GoneEntry
    | OverEntry
    | BeganEntry
    | EndedEntry
    | BlindEntry
    | SeesAgainEntry
    | NameMismatchEntry
)


@dataclass(frozen=True, slots=True, kw_only=True)
class UnknownEntry:
    """An entry of a kind that this version does not recognize."""

    what: str
    at: datetime | None  # None if it is missing
    event: str | None  # None if the entry is about the agent itself
    output: str | None
    details: Mapping[str, object]  # everything except what, at and event


#: An entry from the audit log.
RecordedEntry = AuditEntry | UnknownEntry


# --- reading -----------------------------------------------------------------


def read_entry(line: Mapping[str, object]) -> RecordedEntry:
    """Read a line of the audit log."""
    kind = _KINDS.get(str(line.get("what")), UnknownEntry)
    if kind is UnknownEntry:
        head = ("at", "event", "what")
        details = {name: line[name] for name in line if name not in head}
        line = {**line, "details": details}
    entry: RecordedEntry = _read_fields(kind, line)
    return entry


def read_text(value: object) -> str | None:
    """Read a string; numbers are converted."""
    return None if value is None or value == "" else str(value)


def read_number(value: object) -> float | None:
    """Read a number, or return None if it is missing or implausible."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return value if -_LARGEST < value < _LARGEST else None


def read_names(value: object) -> tuple[str, ...]:
    """Read a list of strings."""
    return tuple(map(str, value)) if isinstance(value, list | tuple) else ()


def _read_time(value: object) -> datetime | None:
    try:
        return utc(datetime.fromisoformat(str(value)))
    except ValueError:
        return None


def _read_object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _read_fields(kind: Any, values: Mapping[str, object]) -> Any:
    """Create a dataclass from its field values."""
    readers = _readers(kind)
    return kind(**{name: read(values.get(name)) for name, read in readers.items()})


@cache
def _readers(kind: Any) -> Mapping[str, Callable[[object], Any]]:
    return {field.name: _READERS[field.type] for field in fields(kind)}


_READERS: Mapping[object, Callable[[object], Any]] = {
    bool: lambda value: value is True,
    int: lambda value: int(read_number(value) or 0),
    float: lambda value: read_number(value) or 0.0,
    float | None: read_number,
    str: lambda value: read_text(value) or "?",
    str | None: read_text,
    datetime | None: _read_time,
    tuple[str, ...]: read_names,
    Mapping[str, tuple[str, ...]]: lambda value: {
        name: read_names(names) for name, names in _read_object(value).items()
    },
    Mapping[str, object]: _read_object,
    Impact: lambda value: _read_fields(Impact, _read_object(value)),
}
_KINDS: Mapping[str, type[RecordedEntry]] = {
    kind.what: kind for kind in get_args(AuditEntry)
}


# --- formatting --------------------------------------------------------------


def utc(moment: datetime | None) -> datetime | None:
    """Convert `moment` to UTC, or return None if the result is out of range."""
    if moment is None or moment.tzinfo is None:
        return moment and moment.replace(tzinfo=UTC)
    try:
        return moment.astimezone(UTC)
    except OverflowError:  # in year 1 or 9999
        return None
