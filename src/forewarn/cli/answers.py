"""What the service answers, read by name; what is absent is None or empty."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from forewarn.cli.tables import some
from forewarn.errors import Misunderstood


@dataclass(frozen=True, slots=True)
class Answer:
    """One JSON object of an answer."""

    plain: Mapping[str, object]

    def text(self, name: str) -> str | None:
        """Read a text; a number is taken as it is written."""
        value = self.plain.get(name)
        return None if value is None else str(value)

    def number(self, name: str) -> int | None:
        """Read a whole number."""
        value = self.plain.get(name)
        return value if isinstance(value, int) else None

    def time(self, name: str) -> datetime | None:
        """Read a time."""
        value = self.plain.get(name)
        try:
            found = datetime.fromisoformat(value) if isinstance(value, str) else None
        except ValueError as error:
            raise Misunderstood(f"{value!r} is not a time ({name})") from error
        return found if found is None or found.tzinfo else found.replace(tzinfo=UTC)

    def names(self, name: str) -> tuple[str, ...]:
        """Read a list of texts."""
        return tuple(str(each) for each in self.list(name))

    def parts(self, name: str) -> "tuple[Answer, ...]":
        """Read a list of objects."""
        return tuple(map(answer, self.list(name)))

    def part(self, name: str) -> "Answer | None":
        """Read an object."""
        value = self.plain.get(name)
        return Answer(value) if isinstance(value, dict) else None

    def list(self, name: str) -> "list[object]":
        """Read a list."""
        value = self.plain.get(name)
        return value if isinstance(value, list) else []


def answer(plain: object) -> Answer:
    """Take `plain` for a JSON object."""
    if isinstance(plain, dict):
        return Answer(plain)
    raise Misunderstood(
        "the service answered in a way that is not understood; is it as new as this"
        " command?"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One group's share of a maintenance."""

    id: str | None  # None: only a preview
    group: str
    resources: tuple[str, ...]
    status: str | None  # None: gone from the wire
    approved_by: str | None
    approved_via: str | None
    approved_at: datetime | None
    seen_by: tuple[tuple[str, datetime | None], ...]  # VMs, and when


@dataclass(frozen=True, slots=True, kw_only=True)
class Maintenance:
    """One act on the fleet."""

    id: str | None  # None: only a preview
    type: str
    source: str
    cause: str
    phase: str
    host: str | None
    vms: tuple[str, ...]
    not_before: datetime | None
    duration: int | None  # seconds; -1: unknown
    description: str | None
    announced_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    stuck_since: datetime | None
    reason: str | None
    events: tuple[Event, ...]

    @property
    def approved(self) -> int:
        """How many of its events nobody has to approve any more."""
        return sum(1 for each in self.events if each.approved_at or each.status is None)

    @property
    def title(self) -> str:
        """What is done to what."""
        return f"{self.type} of {target(self.host, self.vms)}"


def target(host: str | None, vms: tuple[str, ...]) -> str:
    """Say what a maintenance touches."""
    return f"{host} ({some(vms)})" if host else some(vms)


def maintenance(plain: object) -> Maintenance:
    """Read a maintenance."""
    found = answer(plain)
    return Maintenance(
        id=found.text("id"),
        type=found.text("type") or "",
        source=found.text("source") or "",
        cause=found.text("cause") or "",
        phase=found.text("phase") or "",
        host=found.text("host"),
        vms=found.names("vms"),
        not_before=found.time("not_before"),
        duration=found.number("duration_seconds"),
        description=found.text("description"),
        announced_at=found.time("announced_at"),
        started_at=found.time("started_at"),
        ended_at=found.time("ended_at"),
        stuck_since=found.time("stuck_since"),
        reason=found.text("reason"),
        events=tuple(map(event, found.list("events"))),
    )


def event(plain: object) -> Event:
    """Read an event."""
    found = answer(plain)
    return Event(
        id=found.text("id"),
        group=found.text("group") or "",
        resources=found.names("resources"),
        status=found.text("status"),
        approved_by=found.text("approved_by"),
        approved_via=found.text("approved_via"),
        approved_at=found.time("approved_at"),
        seen_by=tuple(map(_sight, found.list("seen_by"))),
    )


def _sight(plain: object) -> tuple[str, datetime | None]:
    if not isinstance(plain, dict):
        return str(plain), None
    found = Answer(plain)
    return found.text("vm") or "", found.time("at")
