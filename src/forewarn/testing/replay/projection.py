"""What a replay shows and accepts: documents, VMs and approvals."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from threading import Lock
from uuid import NAMESPACE_OID, uuid5

from forewarn.core.fleet import VM, Audience, Enabling, Group, GroupKind
from forewarn.engine.readers.documents import AudienceView
from forewarn.errors import UnknownEvent
from forewarn.protocol.codec import decode
from forewarn.protocol.types import Document, EventStatus, ScheduledEvent
from forewarn.protocol.versions import VERSIONS
from forewarn.recordings.format import RecordedDocument, Recording, shift_document

_GROUP = Group(
    name="recording", kind=GroupKind.AVAILABILITY_SET, enabled=Enabling.ALWAYS
)
_DEFAULT_VM = "vm-0"  # used if the recording has no VM names


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplayApproval:
    """A client's approval of an event in the recording."""

    at: datetime  # on the replay's clock
    vm: str
    event: ScheduledEvent  # as it was last shown
    is_in_time: bool  # whether the event was still Scheduled


def vms_of(recording: Recording, named: str | None) -> Sequence[VM]:
    """Return all VMs in `recording`, starting with `named` and the VM that recorded it.

    In version 2017-03-01 documents, a leading underscore marks VMs that are not role
    instances.
    """
    is_marked = _is_marked(recording)
    resources = [
        name
        for line in recording.documents
        if line.document is not None
        for event in _document(line.document).events
        for name in event.resources
    ]
    paas = {vm for vm in resources if is_marked and not vm.startswith("_")}
    plain = [vm.removeprefix("_") if is_marked else vm for vm in resources]
    first = [vm for vm in (named, recording.header.vm) if vm]
    names = {vm.lower(): vm for vm in reversed([*first, *plain])}
    ordered = dict.fromkeys(vm.lower() for vm in [*first, *plain])
    in_order = [names[vm] for vm in ordered] or [_DEFAULT_VM]
    return [VM(name=vm, group=_GROUP.name, paas=vm in paas) for vm in in_order]


def project(
    line: RecordedDocument,
    recording: Recording,
    *,
    number: int,
    turn: int,
    by: timedelta,
) -> AudienceView:
    """Return the view for line `number` in turn `turn`, with times shifted by `by`.

    Clients that use the recording's API version receive all recorded fields, even
    unknown ones. From the second turn on, events have new IDs.
    """
    shown = shift_document(_with_new_ids(line.document or {}, turn), by)
    document = _document(shown)
    if _is_marked(recording):
        document = _unmarked(document)
    epoch = f"{turn}-{number}"
    return AudienceView(
        audience=Audience(
            name=_GROUP.name,
            group=_GROUP.name,
            epoch=epoch,
            incarnation=document.incarnation,
        ),
        group=_GROUP,
        document=document,
        tag=f"{epoch}.{document.incarnation}",
        bodies={recording.header.api_version: _body(shown)},
    )


class ReplayEvents:
    """All events shown so far; thread-safe."""

    def __init__(self) -> None:
        """Create a collection without any events."""
        self._lock = Lock()
        self._events: dict[str, ScheduledEvent] = {}
        self._waiting: set[str] = set()
        self._has_waited: dict[str, None] = {}  # in order of appearance
        self._approved: set[str] = set()

    def show(self, document: Document) -> None:
        """Record that `document` is now shown."""
        with self._lock:
            self._waiting = set()
            for event in document.events:
                self._events[event.id.upper()] = event
                if event.status == EventStatus.SCHEDULED:
                    self._waiting.add(event.id.upper())
                    self._has_waited[event.id.upper()] = None

    def approve(
        self, vm: str, event_ids: Sequence[str], at: datetime
    ) -> Sequence[ReplayApproval]:
        """Approve the given events; fail if any has never been shown."""
        with self._lock:
            for id_ in event_ids:
                if id_ not in self._events:
                    raise UnknownEvent(f"{id_} is not an event of this VM")
            approvals = [
                ReplayApproval(
                    at=at,
                    vm=vm,
                    event=self._events[id_],
                    is_in_time=id_ in self._waiting,
                )
                for id_ in event_ids
            ]
            self._approved |= self._waiting.intersection(event_ids)
        return approvals

    @property
    def unapproved(self) -> Sequence[ScheduledEvent]:
        """Events that were Scheduled and not approved in time."""
        with self._lock:
            ids = [id_ for id_ in self._has_waited if id_ not in self._approved]
            return [self._events[id_] for id_ in ids]


def _is_marked(recording: Recording) -> bool:
    version = VERSIONS.get(recording.header.api_version)
    return version is not None and version.underscore


def _unmarked(document: Document) -> Document:
    return replace(document, events=tuple(map(_unmarked_event, document.events)))


def _unmarked_event(event: ScheduledEvent) -> ScheduledEvent:
    names = event.resources
    return replace(
        event,
        resources=tuple(name.removeprefix("_") for name in names),
        paas=frozenset(name for name in names if not name.startswith("_")),
    )


def _with_new_ids(document: Mapping[str, object], turn: int) -> Mapping[str, object]:
    """Give events new IDs in later turns, because the old IDs belong to past events."""
    listed = document.get("Events")
    if turn == 0 or not isinstance(listed, list):
        return document
    return {**document, "Events": [_with_new_id(event, turn) for event in listed]}


def _with_new_id(event: object, turn: int) -> object:
    if not isinstance(event, dict):
        return event
    new = uuid5(NAMESPACE_OID, f"{turn} {str(event.get('EventId')).upper()}")
    return {**event, "EventId": str(new).upper()}


def _document(plain: Mapping[str, object]) -> Document:
    return decode(_body(plain))


def _body(plain: Mapping[str, object]) -> bytes:
    """Encode a document as real endpoints do; replace lone surrogates."""
    text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
    return text.encode(errors="replace")
