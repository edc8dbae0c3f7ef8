"""Projection of a recording: its lines, as the metadata plane replays them (pure)."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from uuid import NAMESPACE_OID, uuid5

from forewarn.client.shifting import shifted
from forewarn.client.tapes import Showing, Tape
from forewarn.core.fleet import VM, Audience, Group, GroupKind, Listening
from forewarn.engine.documents import Shown
from forewarn.protocol.codec import decode
from forewarn.protocol.types import Document, ScheduledEvent
from forewarn.protocol.versions import VERSIONS

_GROUP = Group(name="tape", kind=GroupKind.AVAILABILITY_SET, listening=Listening.ALWAYS)
_NOBODY = "vm-0"  # the client's VM, if the recording names none


def vms_of(tape: Tape, named: str | None) -> Sequence[VM]:
    """Return all VMs in `tape`: first `named`, or the VM that recorded it.

    In documents of version 2017-03-01 a leading underscore marks VMs that are not role
    instances.
    """
    is_marked = _is_marked(tape)
    resources = [
        name
        for showing in tape.showings
        if showing.document is not None
        for event in _document(showing.document).events
        for name in event.resources
    ]
    paas = {vm for vm in resources if is_marked and not vm.startswith("_")}
    plain = [vm.removeprefix("_") if is_marked else vm for vm in resources]
    first = [vm for vm in (named, tape.header.vm) if vm]
    names = {vm.lower(): vm for vm in reversed([*first, *plain])}
    ordered = dict.fromkeys(vm.lower() for vm in [*first, *plain])
    in_order = [names[vm] for vm in ordered] or [_NOBODY]
    return [VM(name=vm, group=_GROUP.name, paas=vm in paas) for vm in in_order]


def project(
    showing: Showing, tape: Tape, *, number: int, turn: int, by: timedelta
) -> Shown:
    """Show line `number` of `tape` in its `turn`, `by` later than it was recorded.

    Clients that use the recording's API version get everything that was recorded, even
    unknown fields. From the second turn on, events have new ids.
    """
    recorded = shifted(_renewed(showing.document or {}, turn), by)
    document = _document(recorded)
    if _is_marked(tape):
        document = _unmarked(document)
    return Shown(
        audience=Audience(
            name=_GROUP.name,
            group=_GROUP.name,
            epoch=f"{turn}-{number}",
            incarnation=document.incarnation,
        ),
        group=_GROUP,
        document=document,
        bodies={tape.header.api_version: _body(recorded)},
    )


def _is_marked(tape: Tape) -> bool:
    version = VERSIONS.get(tape.header.api_version)
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


def _renewed(document: Mapping[str, object], turn: int) -> Mapping[str, object]:
    """Give events new ids in later turns, as those of the first turn are over."""
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
