"""Models for the control API's request and response bodies.

A response model describes a view's result but is not applied to it; the tests compare
every response with its model. Core dataclasses are returned unchanged.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address, IPv6Address
from itertools import islice
from typing import Annotated, Any, Literal, get_args, get_type_hints

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    RootModel,
    StrictBool,
    StrictInt,
    StrictStr,
    create_model,
)

from forewarn.configfile.values import read_choice
from forewarn.core import fleet_file
from forewarn.core.faults import FaultKind, FaultOn
from forewarn.core.fleet import (
    NAME,
    VM,
    AutoApproval,
    Enabling,
    EvictionPolicy,
    Group,
    GroupKind,
    Host,
    OperatingSystem,
)
from forewarn.core.lifecycle.announcements import Order
from forewarn.core.lifecycle.commands import PossibleCommand
from forewarn.core.lifecycle.facts import Fact, Sight
from forewarn.core.lifecycle.fleet_changes import Difference
from forewarn.core.lifecycle.model import Cause, Maintenance, Phase, Via
from forewarn.core.queries.effects import Effect
from forewarn.core.queries.explanation import WaitReason
from forewarn.core.queries.fleet_checks import FleetFinding
from forewarn.core.queries.views import (
    Json,
    event_view,
    maintenance_view,
    seen_by_nobody,
)
from forewarn.core.queries.visibility import shown_maintenance
from forewarn.core.tokens import Role
from forewarn.engine.fleet import FleetApplied
from forewarn.engine.queries import DryRun
from forewarn.errors import InvalidInput
from forewarn.protocol.types import EventSource, EventStatus, EventType
from forewarn.server.metadata.limits import MetadataLimit

#: The maximum number of changed hosts, groups and VMs whose changed fields are shown.
MOST_CHANGES = 1_000

_MAX_SECONDS = 10**12  # no meaningful number of seconds is larger

#: Names of VMs in a request; only the first invalid name causes an error.
VmNames = Annotated[list[StrictStr], Field(fail_fast=True)]

# --- request bodies ----------------------------------------------------------


class Reason(BaseModel):
    """The reason for a command."""

    model_config = ConfigDict(extra="forbid")

    reason: StrictStr | None = Field(
        None, max_length=1000, description="reason to record in the journal"
    )


class EventDetails(Reason):
    """Details of an event that VMs see."""

    duration_seconds: StrictInt | None = Field(
        None, description="expected duration; -1 if unknown"
    )
    description: StrictStr | None = Field(
        None,
        max_length=1000,
        description="description shown to the VMs; default: Azure's description",
    )


class EventOptions(EventDetails):
    """Details of an event that VMs see, and its notice."""

    notice_seconds: StrictInt | None = Field(
        None,
        ge=0,
        le=_MAX_SECONDS,
        description="time until NotBefore; default: the minimum for the type",
    )
    not_before: StrictStr | None = Field(
        None,
        description=(
            "earliest start, as an RFC 3339 time with a time zone; alternative to"
            " notice_seconds"
        ),
    )


class Reimaging(EventOptions):
    """The reimage of a VM."""

    source: StrictStr | None = Field(
        None,
        description="User (default), or Platform if the platform updates the image",
    )


class HostMaintenance(EventOptions):
    """Planned maintenance of a host."""

    type: StrictStr | None = Field(
        None, description="Freeze, Reboot or Redeploy; default: Freeze"
    )
    live_migration: StrictBool | None = Field(
        None, description="whether this Freeze moves the VMs to another host"
    )
    emergency: StrictBool | None = Field(
        None, description="allow less than the minimum notice; requires a reason"
    )
    ignore_blockers: StrictBool | None = Field(
        None, description="start even while blocked; only with emergency"
    )


class Degraded(EventDetails):
    """The predicted failure of a host."""

    fails_by: StrictStr | None = Field(None, description="RFC 3339 with a time zone")


class Announcement(EventOptions):
    """An announcement of maintenance."""

    type: StrictStr = Field(
        description="Freeze, Reboot, Redeploy, Preempt or Terminate"
    )
    vms: VmNames | None = Field(None, description="names of VMs")
    host: StrictStr | None = Field(
        None, description="all VMs on this host, as one operation"
    )
    group: StrictStr | None = Field(None, description="all VMs in this group")
    source: StrictStr | None = Field(None, description="Platform or User")
    live_migration: StrictBool | None = Field(
        None, description="whether this Freeze moves the VMs to another host"
    )
    emergency: StrictBool | None = Field(
        None, description="allow less than the minimum notice; requires a reason"
    )
    ignore_blockers: StrictBool | None = Field(
        None, description="start even while blocked; only with emergency"
    )


def order_of(body: Announcement) -> Order:
    """Parse an announcement."""
    order = Order(
        type=read_choice(EventType, body.type, "type"),
        vms=tuple(body.vms or ()),
        host=body.host,
        group=body.group,
        source=source_of(body.source),
        live_migration=bool(body.live_migration),
        emergency=bool(body.emergency),
        ignore_blockers=bool(body.ignore_blockers),
    )
    return with_times(order, body)


def with_times(order: Order, body: EventOptions | None) -> Order:
    """Add the notice, start time and fields of `with_details` to `order`."""
    if body is None:
        return order
    notice, at = body.notice_seconds, body.not_before
    return replace(
        with_details(order, body),
        notice=None if notice is None else timedelta(seconds=notice),
        not_before=None if at is None else parse_time(at, "not_before"),
    )


def with_details(order: Order, body: EventDetails | None) -> Order:
    """Add the duration, description and reason to `order`."""
    if body is None:
        return order
    return replace(
        order,
        duration=body.duration_seconds,
        description=body.description,
        reason=body.reason,
    )


def source_of(text: str | None) -> EventSource | None:
    """Parse a source, ignoring case."""
    return None if text is None else read_choice(EventSource, text, "source")


def parse_time(text: str, name: str) -> datetime:
    """Parse a time, which must have a time zone, and return it in UTC."""
    invalid = InvalidInput(
        f"{name}: expected a time with a time zone, such as 2026-01-31T12:00:00Z,"
        f" not {text!r}"
    )
    try:
        parsed = datetime.fromisoformat(text)
        if parsed.tzinfo is None or "T" not in text.upper():
            raise invalid
        return parsed.astimezone(UTC)
    except (ValueError, OverflowError):
        raise invalid from None


# --- response views ----------------------------------------------------------


def announced_view(announced: Sequence[Maintenance]) -> Json:
    """Return announced maintenance operations as JSON."""
    return {
        "maintenances": [maintenance_view(maintenance) for maintenance in announced]
    }


def preview_view(maintenance: Maintenance) -> Json:
    """Return a previewed maintenance operation as JSON, without IDs."""
    events = [
        {
            **event_view(maintenance, event, seen_by_nobody),
            "id": None,
            "maintenance": None,
        }
        for event in maintenance.events
    ]
    return {**maintenance_view(maintenance), "id": None, "guid": None, "events": events}


def dry_run_view(trial: DryRun[Any]) -> Json:
    """Return what a command would do as JSON."""
    shown = [
        shown_maintenance(preview.maintenance, trial.group)
        for preview in trial.previews
    ]
    return {
        "maintenances": [*map(preview_view, shown)],
        "explained": [preview.explanation for preview in trial.previews],
        "effects": trial.effects,
    }


def applied_view(applied: FleetApplied) -> Json:
    """Return the effect of a fleet change as JSON."""
    nouns = ("hosts", "groups", "vms")
    effects: dict[str, dict[str, list[str]]] = {
        effect: {noun: [] for noun in nouns}
        for effect in ("added", "changed", "removed")
    }
    for noun in nouns:
        for old, new in getattr(applied.difference, noun):
            effect = "added" if old is None else "changed" if new else "removed"
            effects[effect][noun].append((new or old).name)
    changes = [*islice(_changes(applied.difference), MOST_CHANGES)]
    return {**effects, "changes": changes, "warnings": applied.warnings}


def _changes(difference: Difference) -> Iterator[Json]:
    """Yield each changed host, group and VM with the fields that change."""
    for old, new in (*difference.hosts, *difference.groups, *difference.vms):
        if old is None or new is None:
            continue
        before, after = _table(old), _table(new)
        fields = [
            {"field": key, "old": before[key], "new": value}
            for key, value in after.items()
            if before[key] != value
        ]
        kind = type(new).__name__.lower()
        yield {"kind": kind, "name": new.name, "fields": fields}


def _table(item: Host | Group | VM) -> dict[str, object]:
    if isinstance(item, VM):
        return fleet_file.vm_table(item)
    if isinstance(item, Group):
        return fleet_file.group_table(item)
    return fleet_file.host_table(item)


# --- response models ---------------------------------------------------------

_Name = Annotated[str, Field(pattern=f"^{NAME.pattern}$")]
_Text = Annotated[str, Field(max_length=1000)]
_Domain = Annotated[int, Field(ge=0, le=999_999)]
_Count = Annotated[int, Field(ge=0)]
_Seconds = Annotated[float, Field(ge=0)]
_Fact = Annotated[
    str, Field(json_schema_extra={"enum": [kind.__name__ for kind in get_args(Fact)]})
]


def _without_titles(schema: dict[str, Any]) -> None:
    del schema["title"]
    for field in schema["properties"].values():
        field.pop("title", None)
        field.pop("default", None)


class View(BaseModel):
    """An object in a response; its OpenAPI schema is named without the suffix."""

    model_config = ConfigDict(
        extra="forbid",
        defer_build=True,
        from_attributes=True,
        json_schema_extra=_without_titles,
        json_schema_serialization_defaults_required=True,
    )

    def __init_subclass__(cls, **options: Any) -> None:
        """Set the class name that pydantic uses to name the schema."""
        cls.__qualname__ = cls.__name__.removeprefix("_").removesuffix("View")
        super().__init_subclass__(**options)


def page_of(name: str, item: type) -> type[View]:
    """Return the model for a page of a list."""
    items: Any = list[item]  # type: ignore[valid-type]  # a type at run time
    return create_model(name, __base__=View, items=items, next=str | int | None)


def view_of(name: str, source: type) -> type[View]:
    """Return a response model named `name` for the dataclass `source`."""
    return create_model(name, __base__=View, **get_type_hints(source))


class Problem(View):
    """An error. If the notice was too short, `earliest` is the first possible time."""

    model_config = ConfigDict(extra="allow")

    type: str
    title: str
    status: Annotated[int, Field(ge=400, le=599)]
    detail: str


# --- the fleet


class HostView(View):
    """A host."""

    name: _Name


class GroupView(View):
    """A group."""

    name: _Name
    kind: GroupKind
    enabled: Enabling
    terminate_notice_seconds: Annotated[int, Field(ge=300, le=900)] | None
    auto_approve: list[AutoApproval]
    eviction_policy: EvictionPolicy | None
    isolated: bool
    enabled_since: datetime | None
    last_request: datetime | None


class VmView(View):
    """A VM."""

    name: _Name
    group: _Name
    host: _Name | None
    update_domain: _Domain | None
    fault_domain: _Domain | None
    zone: _Text | None
    addresses: list[IPv4Address | IPv6Address]
    spot: bool
    eviction_policy: EvictionPolicy | None
    paas: bool
    os: OperatingSystem
    tags: dict[str, _Text]
    size: _Text | None
    location: _Text | None
    resource_group: _Text | None
    subscription: _Text | None
    vm_id: _Text | None
    deallocated: bool


class _NamesView(View):
    hosts: list[str]
    groups: list[str]
    vms: list[str]


class _ChangedFieldView(View):
    field: str
    old: Any
    new: Any


class _ChangeView(View):
    kind: Literal["host", "group", "vm"]
    name: _Name
    fields: list[_ChangedFieldView]


class AppliedView(View):
    """The effect of a fleet change. At most 1,000 items of `changed` have details."""

    added: _NamesView
    changed: _NamesView
    removed: _NamesView
    changes: list[_ChangeView]
    warnings: list[str]


class _MappedGroupView(View):
    name: _Name
    kind: GroupKind
    enabled: Enabling
    is_disabled: bool
    last_request: datetime | None


class _MappedVmsView(View):
    name: list[_Name]
    group: list[_Count]
    host: list[_Count | None]
    update_domain: list[_Count | None]
    spot: list[bool]
    deallocated: list[bool]
    last_request: list[datetime | None]


class FleetMapView(View):
    """The fleet in columns; `group` and `host` of a VM are indexes."""

    position: _Count
    now: datetime
    hosts: list[str]
    groups: list[_MappedGroupView]
    vms: _MappedVmsView


class FleetChecksView(View):
    """The size of the fleet, and what is unusual about it."""

    now: datetime
    hosts: _Count | None
    groups: _Count
    vms: _Count
    findings: list[FleetFinding]


class _LimitedVmView(View):
    name: _Name
    refused: _Count
    limits: dict[MetadataLimit, _Count]
    last: datetime


class LimitedView(View):
    """VMs that the metadata plane refused something, latest first."""

    items: list[_LimitedVmView]


# --- maintenance operations


class EventView(View):
    """An event."""

    id: str
    maintenance: str
    group: str
    resources: list[str]
    status: EventStatus | None
    approved_by: str | None
    approved_via: Via | None
    approved_at: datetime | None
    seen_by: list[str]


class MaintenanceView(View):
    """A maintenance with its events."""

    id: str
    guid: str
    type: EventType
    source: EventSource
    cause: Cause
    phase: Phase
    host: str | None
    vms: list[str]
    not_before: datetime
    duration_seconds: Annotated[int, Field(ge=-1)]
    description: str
    announced_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    stuck_since: datetime | None
    reason: str | None
    events: list[EventView]


class VmStatusView(View):
    """A VM with its current maintenance."""

    vm: VmView
    is_disabled: bool
    group_last_request: datetime | None
    last_request: datetime | None
    limits: _LimitedVmView | None
    maintenances: list[MaintenanceView]


class HostStatusView(View):
    """A host with its VMs and current maintenance."""

    host: HostView
    vms: list[VmView]
    maintenances: list[MaintenanceView]


class AnnouncedView(View):
    """Announced maintenance operations."""

    maintenances: list[MaintenanceView]


class _PreviewEventView(EventView):
    id: None  # type: ignore[assignment]  # not announced
    maintenance: None  # type: ignore[assignment]


class _PreviewMaintenanceView(MaintenanceView):
    id: None  # type: ignore[assignment]
    guid: None  # type: ignore[assignment]
    events: list[_PreviewEventView]  # type: ignore[assignment]


class ExplanationView(View):
    """What a maintenance waits for."""

    phase: Phase
    due: bool
    summary: str
    waits: list[WaitReason]
    starts_at_latest: datetime | None
    hint: str | None


class DryRunView(View):
    """What a command would do.

    `maintenances` would be announced; `explained` explains them in the same order.
    `effects` describes changes to existing maintenance operations and to the fleet.
    """

    maintenances: list[_PreviewMaintenanceView]
    explained: list[ExplanationView]
    effects: list[Effect]


def or_dry_run(view: type[View]) -> type[BaseModel]:
    """Return a model for the result of a command, or of a dry run."""
    name = f"{view.__qualname__}OrDryRun"
    return create_model(name, __base__=RootModel[view | DryRunView])  # type: ignore[valid-type]  # a type at run time


#: Responses of commands that usually return 201.
OR_DRY_RUN: dict[int | str, dict[str, Any]] = {200: {"model": DryRunView}}


class _OverviewItemView(View):
    maintenance: MaintenanceView
    due: bool
    waits: list[WaitReason]
    starts_at_latest: datetime | None
    can: list[PossibleCommand]
    seen: list[Sight]


class OverviewView(View):
    """A page of the overview."""

    position: _Count
    clock: str
    now: datetime
    items: list[_OverviewItemView]
    next: str | None


class EntryView(View):
    """A journal entry, with the additional keys of its fact."""

    model_config = ConfigDict(extra="allow")

    position: Annotated[int, Field(ge=1)]
    at: datetime
    fact: _Fact
    text: str
    maintenance: str | None
    event: str | None
    group: str | None
    by: str | None
    via: Via | None


# --- the service


class ClockView(View):
    """The kind of clock, and the service's time.

    If the clock is behind the journal, the service's time stands still until the clock
    has caught up. Only in this case are the other fields present.
    """

    model_config = ConfigDict(json_schema_serialization_defaults_required=False)

    clock: str
    now: datetime
    system_now: datetime | None = None
    stands_still_until: datetime | None = None


class FaultView(View):
    """An active fault."""

    id: str
    kind: FaultKind
    on: FaultOn
    vms: list[str]
    count: Annotated[int, Field(ge=1)] | None
    left: Annotated[int, Field(ge=1)] | None
    probability: _Seconds
    duration_seconds: _Seconds | None
    left_seconds: _Seconds | None
    delay_seconds: _Seconds | None
    retry_after_seconds: _Count | None
    text: str
    set_by: str
    set_at: datetime


class TokenView(View):
    """A token, without its text."""

    id: str
    name: str
    role: Role
    group: str | None
    created_at: datetime
    created_by: str | None
    expires_at: datetime | None
    last_used: datetime | None
    refused: int = Field(
        0,
        description=(
            "number of recent requests refused because the token had too many at once"
        ),
    )


class NewTokenShownView(TokenView):
    """A new token with its text."""

    token: str


class SessionView(View):
    """The caller and its permissions."""

    name: str
    role: Role
    group: str | None
    signed_in: bool
    expires_at: datetime | None
    token_expires_at: datetime | None
    may: list[str]


class StartedSessionView(SessionView):
    """A new session with its key, which is shown only once."""

    session_key: str


class SignInLinkView(View):
    """A one-time link to the portal; the path contains its code."""

    path: str
    expires_in_seconds: Annotated[int, Field(ge=1)]


class AliveView(View):
    """The service is running."""

    status: Literal["ok"]


class ReadyView(View):
    """The service is ready; `faults` lists the kinds of active faults.

    `warnings` lists problems that do not make it unready.
    """

    model_config = ConfigDict(json_schema_serialization_defaults_required=False)

    status: Literal["ready"]
    version: str
    faults: list[FaultKind] = []
    warnings: list[str] = []


class NotReadyView(View):
    """The service is not ready."""

    status: Literal["not ready"]
    version: str
    reason: str
