"""Expected documents and API views, computed without the program's own code."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from email.utils import format_datetime
from typing import Any

from tests.stories.support.harness import rfc3339
from tests.stories.support.rows import (
    CANCELED,
    COMPLETED,
    SCHEDULED,
    STARTED,
    ExpectedMaintenance,
)

VERSIONS = (
    "2017-03-01",
    "2017-08-01",
    "2017-11-01",
    "2019-01-01",
    "2019-04-01",
    "2019-08-01",
    "2020-07-01",
)
STATUS = {SCHEDULED: "Scheduled", STARTED: "Started"}
#: API version that added an event type; all others exist in every version.
SINCE = {"Preempt": "2017-11-01", "Terminate": "2019-01-01"}
DAY = timedelta(hours=24)

Approval = Mapping[str, str | None]
NOT_APPROVED: Approval = dict.fromkeys(("approved_by", "approved_via", "approved_at"))


@dataclass(slots=True, kw_only=True)
class ModelMaintenance:
    """A maintenance in its expected state."""

    act: ExpectedMaintenance
    phase: str
    announced: datetime
    id: str = ""
    guid: str = ""
    started: datetime | None = None
    ended: datetime | None = None
    ids: list[str] = field(default_factory=list)  # of the events
    approvals: dict[int, Approval] = field(default_factory=dict)
    seen: dict[int, set[str]] = field(default_factory=dict)

    @property
    def not_before(self) -> datetime:
        return self.announced + timedelta(seconds=self.act.notice or 0)

    def move(self, phase: str, now: datetime) -> None:
        """Enter `phase` at `now`."""
        if phase == STARTED:
            self.started = now
        if phase in (COMPLETED, CANCELED):
            self.ended = now
        self.phase = phase

    def bind(self, shown: Any) -> None:
        """Adopt the random ids from the first view; later views must have the same."""
        if self.id:
            return
        named = {(e["group"], tuple(e["resources"])): e["id"] for e in shown["events"]}
        self.id, self.guid = shown["id"], shown["guid"]
        self.ids = [
            named[group, tuple(resources)] for group, resources in self.act.events
        ]

    def view(self) -> Any:
        """Return the expected API view, with events in the order of the row."""
        act = self.act
        return {
            "id": self.id,
            "guid": self.guid,
            "type": act.type,
            "source": act.source,
            "cause": act.cause,
            "phase": self.phase,
            "host": act.host,
            "vms": sorted(act.vms),
            "not_before": rfc3339(self.not_before),
            "duration_seconds": act.duration,
            "description": act.description,
            "announced_at": rfc3339(self.announced),
            "started_at": self.started and rfc3339(self.started),
            "ended_at": self.ended and rfc3339(self.ended),
            "stuck_since": None,
            "reason": act.reason,
            "events": [self._event(number) for number in range(len(act.events))],
        }

    def _event(self, number: int) -> Any:
        group, resources = self.act.events[number]
        return {
            "id": self.ids[number],
            "maintenance": self.id,
            "group": group,
            "resources": [*resources],
            "status": STATUS.get(self.phase),
            **self.approvals.get(number, NOT_APPROVED),
            "seen_by": sorted(self.seen.get(number, ())),
        }

    def wire(self, number: int, version: str, paas: bool) -> Mapping[str, object]:
        """Return the expected event on the wire, with its keys in order."""
        act = self.act
        _, resources = act.events[number]
        underscore = "_" if version == "2017-03-01" and not paas else ""
        waits = self.phase == SCHEDULED and act.notice is not None
        fields: dict[str, object] = {
            "EventId": self.ids[number],
            "EventStatus": STATUS[self.phase],
            "EventType": act.type,
            "ResourceType": "VirtualMachine",
            "Resources": [f"{underscore}{name}" for name in resources],
            "NotBefore": _date(self.not_before, version) if waits else "",
        }
        if version >= "2019-04-01":
            fields["Description"] = act.description
        if version >= "2019-08-01":
            fields["EventSource"] = act.source
        if version >= "2020-07-01":
            fields["DurationInSeconds"] = act.duration
        return fields


def _date(moment: datetime, version: str) -> str:
    if version == "2017-03-01":
        return rfc3339(moment)
    return format_datetime(moment, usegmt=True)


def normal(shown: Any, kept: ModelMaintenance) -> Any:
    """Sort an API view into the order of the row where the API promises none."""
    events = {event["id"]: event for event in shown["events"]}
    assert len(events) == len(shown["events"]), "an id was given twice"
    ordered = [events.pop(event) for event in kept.ids] + [*events.values()]
    listed = [{**event, "seen_by": sorted(event["seen_by"])} for event in ordered]
    return {**shown, "vms": sorted(shown["vms"]), "events": listed}


@dataclass(slots=True, kw_only=True)
class Audience:
    """VMs that share a document, and the expected state of that document."""

    vms: Sequence[str]
    group: str
    isolated: bool
    paas: bool
    always: bool  # always enabled
    epoch: int = 0
    incarnation: int = 0
    last_poll: datetime | None = None  # time of the last poll; None before the first
    last: object = None  # the events shown last; None before the first change

    def shares(
        self, kept: Sequence[ModelMaintenance]
    ) -> Iterator[tuple[ModelMaintenance, int]]:
        """Yield the events that this audience must see, in order."""
        for maintenance in kept:
            for number, (group, resources) in enumerate(maintenance.act.events):
                sees = group == self.group and maintenance.phase in STATUS
                if sees and (not self.isolated or self.vms[0] in resources):
                    yield maintenance, number

    def publish(self, kept: Sequence[ModelMaintenance]) -> None:
        """Increment the incarnation if the shown events have changed."""
        now = [
            (maintenance.id, n, maintenance.phase)
            for maintenance, n in self.shares(kept)
        ]
        if now != (self.last or []):
            self.incarnation += 1
        self.last = now

    def record_poll(self, now: datetime, kept: Sequence[ModelMaintenance]) -> None:
        """Record a poll, which enables the group if the last one was a day ago."""
        if not self.always and (self.last_poll is None or now - self.last_poll >= DAY):
            self.epoch += 1
            self.incarnation = 1 if [*self.shares(kept)] else 0
        self.last_poll = now

    def document(self, kept: Sequence[ModelMaintenance], version: str) -> bytes:
        """Return the expected document, byte for byte."""
        events = [
            maintenance.wire(number, version, self.paas)
            for maintenance, number in self.shares(kept)
            if version >= SINCE.get(maintenance.act.type, "")
        ]
        whole = {"DocumentIncarnation": self.incarnation, "Events": events}
        return json.dumps(whole, separators=(",", ":")).encode()


def audiences(fleet: Mapping[str, Any]) -> list[Audience]:
    """Return the audiences of `fleet`, a parsed fleet file."""
    groups = {item["name"]: item for item in fleet["groups"]}
    members: dict[tuple[str, str], list[Any]] = {}
    for vm in fleet["vms"]:
        group = vm.get("group", vm["name"])
        alone = groups.get(group, {}).get("isolated", False)
        members.setdefault((group, vm["name"] if alone else ""), []).append(vm)
    return [
        Audience(
            vms=[item["name"] for item in vms],
            group=group,
            isolated=bool(alone),
            paas=vms[0].get("paas", False),
            always=groups.get(group, {}).get("enabled") == "always",
        )
        for (group, alone), vms in members.items()
    ]
