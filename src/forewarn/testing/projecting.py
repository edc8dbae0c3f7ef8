"""A line of a tape, as the metadata plane shows it at another time (pure)."""

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
_NOBODY = "vm-0"  # who asks, if the tape names no VM


def vms_of(tape: Tape, named: str | None) -> Sequence[VM]:
    """Find all VMs on `tape`; the first is the one that is `named`, or it was made in.

    Documents of 2017-03-01 mark by an underscore which VMs are no role instances.
    """
    is_marked = _is_marked(tape)
    resources = [
        name
        for showing in tape.showings
        if showing.document is not None
        for event in _document(showing.document).events
        for name in event.resources
    ]
    paas = {each for each in resources if is_marked and not each.startswith("_")}
    plain = [each.removeprefix("_") if is_marked else each for each in resources]
    first = [each for each in (named, tape.header.vm) if each]
    names = {each.lower(): each for each in reversed([*first, *plain])}
    ordered = dict.fromkeys(each.lower() for each in [*first, *plain])
    found = [names[each] for each in ordered] or [_NOBODY]
    return [VM(name=each, group=_GROUP.name, paas=each in paas) for each in found]


def project(
    showing: Showing, tape: Tape, *, number: int, turn: int, by: timedelta
) -> Shown:
    """Show line `number` of `tape` in its `turn`, `by` later than it was recorded.

    Whoever asks in the version of the tape gets all that was recorded, also what is
    not known here. From its second turn on a tape tells of other events.
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
        resources=tuple(each.removeprefix("_") for each in names),
        paas=frozenset(each for each in names if not each.startswith("_")),
    )


def _renewed(document: Mapping[str, object], turn: int) -> Mapping[str, object]:
    """Give events other ids in later turns: those of the first are over for good."""
    listed = document.get("Events")
    if turn == 0 or not isinstance(listed, list):
        return document
    return {**document, "Events": [_with_new_id(each, turn) for each in listed]}


def _with_new_id(event: object, turn: int) -> object:
    if not isinstance(event, dict):
        return event
    new = uuid5(NAMESPACE_OID, f"{turn} {str(event.get('EventId')).upper()}")
    return {**event, "EventId": str(new).upper()}


def _document(plain: Mapping[str, object]) -> Document:
    return decode(_body(plain))


def _body(plain: Mapping[str, object]) -> bytes:
    """Write it as real endpoints do; halves of characters cannot be written."""
    text = json.dumps(plain, ensure_ascii=False, separators=(",", ":"))
    return text.encode(errors="replace")
