"""Responses of the control API. Fields that are absent are None or empty.

Text is cleaned here, so that no value in a response can start a new line.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from forewarn.errors import Misunderstood
from forewarn.formats import clean, join_names

_UNEXPECTED = (
    "unexpected response; check that the service and this command have the same version"
)


@dataclass(frozen=True, slots=True)
class JsonObject:
    """A JSON object in a response."""

    plain: Mapping[str, object]

    def text(self, name: str) -> str | None:
        """Return a string or number field as a single line of text."""
        value = self.plain.get(name)
        return None if value is None else clean(str(value))

    def number(self, name: str) -> int | None:
        """Return an integer field, or None if absent or of another type."""
        value = self.plain.get(name)
        return value if isinstance(value, int) else None

    def time(self, name: str) -> datetime | None:
        """Return a time field; a time without a zone is treated as UTC."""
        value = self.plain.get(name)
        try:
            moment = datetime.fromisoformat(value) if isinstance(value, str) else None
        except ValueError as error:
            raise Misunderstood(
                f"field {name} contains an invalid time: {value!r}"
            ) from error
        return moment if moment is None or moment.tzinfo else moment.replace(tzinfo=UTC)

    def names(self, name: str) -> tuple[str, ...]:
        """Return the items of a list field, each as a single line of text."""
        return tuple(clean(str(item)) for item in self.list(name))

    def parts(self, name: str) -> "tuple[JsonObject, ...]":
        """Return the items of a list field as objects."""
        return tuple(map(object_from, self.list(name)))

    def part(self, name: str) -> "JsonObject":
        """Return an object field, or an empty object if absent or of another type."""
        value = self.plain.get(name)
        return JsonObject(value if isinstance(value, dict) else {})

    def list(self, name: str) -> "list[object]":
        """Return a list field, or an empty list if absent or of another type."""
        value = self.plain.get(name)
        return value if isinstance(value, list) else []


def object_from(plain: object) -> JsonObject:
    """Wrap a JSON object; raise `Misunderstood` for anything else."""
    if isinstance(plain, dict):
        return JsonObject(plain)
    raise Misunderstood(_UNEXPECTED)


@dataclass(frozen=True, slots=True, kw_only=True)
class EventResponse:
    """The event that a maintenance operation causes for a single group."""

    id: str | None  # None in a dry run
    maintenance: str | None  # None in a dry run
    group: str
    resources: tuple[str, ...]
    status: str | None  # None once it is no longer in the document
    approved_by: str | None
    approved_via: str | None
    approved_at: datetime | None
    seen_by: tuple[tuple[str, datetime | None], ...]  # VM and first read


@dataclass(frozen=True, slots=True, kw_only=True)
class MaintenanceResponse:
    """A maintenance operation."""

    id: str | None  # such as m-17; None in a dry run
    guid: str | None  # None in a dry run
    type: str
    source: str
    cause: str
    phase: str
    host: str | None
    vms: tuple[str, ...]
    not_before: datetime | None
    duration: int | None  # seconds; -1 if unknown
    description: str | None
    announced_at: datetime | None
    started_at: datetime | None
    ended_at: datetime | None
    stuck_since: datetime | None
    reason: str | None
    events: tuple[EventResponse, ...]

    @property
    def approved(self) -> int:
        """The number of events that no longer need approval."""
        return sum(1 for item in self.events if item.approved_at or item.status is None)

    def changed_at(self, now: datetime) -> datetime:
        """Return when it ended, started or will start, whichever is its latest step."""
        return self.ended_at or self.started_at or self.not_before or now

    @property
    def title(self) -> str:
        """The event type, with the host or VMs that it affects."""
        return f"{self.type} of {describe_target(self.host, self.vms)}"


def describe_target(host: str | None, vms: tuple[str, ...]) -> str:
    """Describe what a maintenance operation affects."""
    return f"{host} ({join_names(vms)})" if host else join_names(vms)


def maintenance_from(plain: object) -> MaintenanceResponse:
    """Parse a maintenance operation."""
    response = object_from(plain)
    if not {"id", "type"} & {*response.plain}:
        raise Misunderstood(_UNEXPECTED)
    return MaintenanceResponse(
        id=response.text("id"),
        guid=response.text("guid"),
        type=response.text("type") or "",
        source=response.text("source") or "",
        cause=response.text("cause") or "",
        phase=response.text("phase") or "",
        host=response.text("host"),
        vms=response.names("vms"),
        not_before=response.time("not_before"),
        duration=response.number("duration_seconds"),
        description=response.text("description"),
        announced_at=response.time("announced_at"),
        started_at=response.time("started_at"),
        ended_at=response.time("ended_at"),
        stuck_since=response.time("stuck_since"),
        reason=response.text("reason"),
        events=tuple(map(event_from, response.list("events"))),
    )


def maintenances_from(plain: object) -> tuple[MaintenanceResponse, ...]:
    """Parse the maintenance operations in a response that lists them."""
    return tuple(map(maintenance_from, object_from(plain).list("maintenances")))


def event_from(plain: object) -> EventResponse:
    """Parse an event."""
    response = object_from(plain)
    return EventResponse(
        id=response.text("id"),
        maintenance=response.text("maintenance"),
        group=response.text("group") or "",
        resources=response.names("resources"),
        status=response.text("status"),
        approved_by=response.text("approved_by"),
        approved_via=response.text("approved_via"),
        approved_at=response.time("approved_at"),
        seen_by=tuple(map(_seen_by, response.list("seen_by"))),
    )


def _seen_by(plain: object) -> tuple[str, datetime | None]:
    if not isinstance(plain, dict):
        return clean(str(plain)), None
    sight = JsonObject(plain)
    return sight.text("vm") or "", sight.time("at")
