"""Oracle of the load test: checks every response to a VM, as a client sees it.

1. A response is complete: status, headers, JSON, fields and their types.
2. An ETag stands for one document, the same for all VMs of an audience.
3. A request that is sent after a response has arrived returns no older document.
4. An event is Scheduled, then Started, then gone. It does not come back, and its
   other fields do not change.
5. No event starts before its NotBefore, unless it was approved.
"""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from email.utils import parsedate_to_datetime
from typing import Any

from benchmarks.fleet import FleetVm
from benchmarks.http_connection import ReceivedResponse

_ID = re.compile(r"[0-9A-F]{8}(-[0-9A-F]{4}){3}-[0-9A-F]{12}")
_TAG = re.compile(r'"(\w+)\.(\d+)(?:\.\w+)?"')
_FIELDS: Mapping[str, type] = {
    "EventId": str,
    "EventStatus": str,
    "EventType": str,
    "ResourceType": str,
    "Resources": list,
    "NotBefore": str,
    "Description": str,
    "EventSource": str,
    "DurationInSeconds": int,
}
_TYPES = {"Freeze", "Reboot", "Redeploy", "Preempt", "Terminate"}
_FIXED = ("EventType", "Resources", "Description", "EventSource", "DurationInSeconds")
_ORDER = {"Scheduled": 0, "Started": 1}

#: Tolerance: `Date` has whole seconds, and may be slightly old.
_DATE = timedelta(seconds=2)


@dataclass(slots=True)
class SeenEvent:
    """Event as it was first seen."""

    first: Mapping[str, Any]
    not_before: datetime | None  # None if it starts immediately


@dataclass(slots=True)
class VmView:
    """What one VM has seen."""

    statuses: dict[str, str] = field(default_factory=dict)
    gone: set[str] = field(default_factory=set)


class Oracle:
    """Record of what VMs have seen, with all violations."""

    def __init__(self) -> None:
        """Start without any observations."""
        self.complaints: list[str] = []
        self.lives: dict[str, SeenEvent] = {}
        self.approved: set[str] = set()  # events that may have been approved
        self.never_started: set[str] = set()  # vanished while Scheduled
        self.latest: dict[str, tuple[str, int]] = {}  # by audience: epoch, incarnation
        self._bodies: dict[tuple[str, str], bytes] = {}  # by audience and tag
        self._views: dict[str, VmView] = {}  # by VM

    def expect(self, truth: bool, complaint: str) -> None:
        """Record `complaint` unless `truth`."""
        if not truth:
            self.complaints.append(complaint)

    def floor(self, machine: FleetVm) -> int:
        """Return the oldest incarnation that a new request may return."""
        return self.latest.get(machine.audience, ("", 0))[1]

    def read(
        self, machine: FleetVm, answer: ReceivedResponse, floor: int
    ) -> Sequence[Any]:
        """Check a document and return its events; none if it is malformed."""
        tag = answer.headers.get("etag", "")
        match = _TAG.fullmatch(tag)
        try:
            document = json.loads(answer.body)
            events = [*document["Events"]]
            incarnation = int(document["DocumentIncarnation"])
        except (ValueError, KeyError, TypeError):
            self.complaints.append(f"{machine.name}: not a document: {answer.body!r}")
            return ()
        if match is None or int(match[2]) != incarnation:
            self.complaints.append(
                f"{machine.name}: incarnation {incarnation} is tagged {tag}"
            )
            return ()
        self._judge_tag(machine, answer, match[1], incarnation, floor)
        now = parsedate_to_datetime(answer.headers["date"])
        for event in events:
            self._judge_event(machine, event, now)
        self._judge_change(machine, events)
        return events

    def _judge_tag(
        self,
        machine: FleetVm,
        answer: ReceivedResponse,
        epoch: str,
        incarnation: int,
        floor: int,
    ) -> None:
        who, tag = machine.audience, answer.headers["etag"]
        body = self._bodies.setdefault((who, tag), answer.body)
        self.expect(body == answer.body, f"{who}: two documents are tagged {tag}")
        self.expect(
            incarnation >= floor, f"{who}: incarnation {incarnation} after {floor}"
        )
        before = self.latest.get(who)
        if before is not None:
            self.expect(before[0] == epoch, f"{who}: epoch {before[0]}, then {epoch}")
        if before is None or before[1] < incarnation:
            self.latest[who] = (epoch, incarnation)

    def _judge_event(self, machine: FleetVm, event: Any, now: datetime) -> None:
        where = f"{machine.name}: {event}"
        whole = isinstance(event, dict) and [*event] == [*_FIELDS]
        if not whole or any(type(event[k]) is not _FIELDS[k] for k in _FIELDS):
            self.complaints.append(f"{where} has unexpected fields")
            return
        id_, status, blank = event["EventId"], event["EventStatus"], ""
        self.expect(_ID.fullmatch(id_) is not None, f"{where}: invalid id")
        self.expect(status in _ORDER, f"{where}: invalid status")
        self.expect(event["EventType"] in _TYPES, f"{where}: invalid type")
        life = self.lives.get(id_)
        if life is None:
            life = self.lives[id_] = SeenEvent(event, _moment(event["NotBefore"]))
        self.expect(all(event[k] == life.first[k] for k in _FIXED), f"{where} changed")
        if status == "Started":
            self.expect(event["NotBefore"] == blank, f"{where}: NotBefore is not blank")
            due = life.not_before is None or now + _DATE >= life.not_before
            self.expect(due or id_ in self.approved, f"{where} started early")
        elif life.first["EventStatus"] == "Scheduled":
            time = life.first["NotBefore"]
            self.expect(event["NotBefore"] == time, f"{where}: NotBefore was {time}")

    def _judge_change(self, machine: FleetVm, events: Sequence[Any]) -> None:
        view = self._views.setdefault(machine.name, VmView())
        now = {event["EventId"]: event["EventStatus"] for event in events}
        for id_, status in now.items():
            who = f"{machine.name}: {id_}"
            self.expect(id_ not in view.gone, f"{who} came back")
            before = view.statuses.get(id_, "Scheduled")
            forth = _ORDER.get(status, 0) >= _ORDER.get(before, 0)
            self.expect(forth, f"{who}: {before}, then {status}")
        for id_, status in view.statuses.items():
            if id_ not in now:
                view.gone.add(id_)
                if status == "Scheduled":
                    self.never_started.add(id_)
        view.statuses = now


def _moment(not_before: str) -> datetime | None:
    return parsedate_to_datetime(not_before) if not_before else None
