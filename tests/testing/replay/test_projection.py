"""Projection of a recorded document to another time."""

import json
from datetime import timedelta

from tests.recordings.recordings import (
    GUID,
    a_header,
    a_raw_event,
    a_recorded_document,
    a_recording,
)

from forewarn.engine.readers.documents import AudienceView
from forewarn.protocol.codec import encode
from forewarn.protocol.versions import VERSIONS
from forewarn.recordings.format import RecordedDocument, Recording
from forewarn.testing.replay.projection import project, vms_of

HOUR = timedelta(hours=1)


def projected(
    recording: Recording, turn: int = 0, by: timedelta = HOUR
) -> AudienceView:
    return project(recording.documents[0], recording, number=3, turn=turn, by=by)


def body(shown: AudienceView, version: str) -> dict[str, object]:
    """Return the event as sent in `version`."""
    ready = shown.bodies.get(version) or encode(shown.document, VERSIONS[version])
    (event,) = json.loads(ready)["Events"]
    return dict(event)


def test_recorded_version_is_served_unchanged_except_for_the_time() -> None:
    event = a_raw_event(EventType="Levitate", Later={"x": 1}, Extra="é")
    shown = projected(a_recording(a_recorded_document(event)))
    later = {**event, "NotBefore": "Sat, 31 Jan 2026 13:15:00 GMT"}
    assert body(shown, "2020-07-01") == later
    assert list(body(shown, "2020-07-01")) == list(event)


def test_older_versions_omit_newer_fields() -> None:
    shown = projected(a_recording(a_recorded_document(a_raw_event())))
    old = body(shown, "2017-03-01")
    assert old["Resources"] == ["_web-0"]
    assert old["NotBefore"] == "2026-01-31T13:15:00Z"
    assert "Description" not in old


def test_newer_versions_have_defaults_for_unrecorded_fields() -> None:
    event = a_raw_event(Resources=["_web-0", "role"], NotBefore="2026-01-31T12:15:00Z")
    for name in ("Description", "EventSource", "DurationInSeconds"):
        del event[name]
    recording = a_recording(
        a_recorded_document(event), header=a_header(api_version="2017-03-01")
    )
    new = body(projected(recording), "2020-07-01")
    assert new["Resources"] == ["web-0", "role"]
    assert new["DurationInSeconds"] == -1
    assert new["Description"] == ""
    assert new["NotBefore"] == "Sat, 31 Jan 2026 13:15:00 GMT"
    assert body(projected(recording), "2017-03-01")["Resources"] == ["_web-0", "role"]


def test_each_turn_has_its_own_stable_event_ids() -> None:
    recording = a_recording(a_recorded_document(a_raw_event()))
    first, again, third = (projected(recording, turn) for turn in (0, 1, 2))
    assert first.document.events[0].id == GUID
    ids = {shown.document.events[0].id for shown in (first, again, third)}
    assert len(ids) == 3
    assert projected(recording, 1).document == again.document
    tags = {shown.audience.epoch for shown in (first, again, third)}
    assert len(tags) == 3


def test_lone_surrogates_can_be_sent() -> None:
    shown = projected(
        a_recording(a_recorded_document(a_raw_event(Description="\ud800")))
    )
    assert body(shown, "2020-07-01")["Description"] == "?"
    assert body(shown, "2019-08-01")["Description"] == "?"


def test_every_recorded_vm_can_poll_and_the_recorder_comes_first() -> None:
    event = a_raw_event(Resources=["web-0", "WEB-1"])
    again = a_raw_event(Resources=["web-1", "web-2"])
    recording = a_recording(
        a_recorded_document(event),
        a_recorded_document(again),
        RecordedDocument(after=1.0, document=None),
        header=a_header(vm="web-2"),
    )
    assert [vm.name for vm in vms_of(recording, None)] == ["web-2", "web-0", "WEB-1"]
    named = [vm.name for vm in vms_of(recording, "db")]
    assert named == ["db", "web-2", "web-0", "WEB-1"]


def test_recording_without_vm_names_still_has_a_vm() -> None:
    assert [vm.name for vm in vms_of(a_recording(a_recorded_document()), None)] == [
        "vm-0"
    ]


def test_names_of_2017_03_01_lose_their_underscore() -> None:
    event = a_raw_event(Resources=["_web-0", "role"])
    recording = a_recording(
        a_recorded_document(event), header=a_header(api_version="2017-03-01")
    )
    assert [(vm.name, vm.paas) for vm in vms_of(recording, None)] == [
        ("web-0", False),
        ("role", True),
    ]
