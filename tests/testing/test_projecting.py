"""A document of a tape, at another time."""

import json
from datetime import timedelta

from tests.client.tapes import (
    GUID,
    a_header,
    a_raw_event,
    a_showing,
    a_tape,
)

from forewarn.client.tapes import Showing, Tape
from forewarn.engine.documents import Shown
from forewarn.protocol.codec import encode
from forewarn.protocol.versions import VERSIONS
from forewarn.testing.projecting import project, vms_of

HOUR = timedelta(hours=1)


def projected(tape: Tape, turn: int = 0, by: timedelta = HOUR) -> Shown:
    return project(tape.showings[0], tape, number=3, turn=turn, by=by)


def body(shown: Shown, version: str) -> dict[str, object]:
    """What is answered in `version`."""
    ready = shown.bodies.get(version) or encode(shown.document, VERSIONS[version])
    (event,) = json.loads(ready)["Events"]
    return dict(event)


def test_in_the_version_of_the_tape_all_is_answered_as_it_was_but_for_the_time() -> (
    None
):
    event = a_raw_event(EventType="Levitate", Later={"x": 1}, Extra="é")
    shown = projected(a_tape(a_showing(event)))
    later = {**event, "NotBefore": "Sat, 31 Jan 2026 13:15:00 GMT"}
    assert body(shown, "2020-07-01") == later
    assert list(body(shown, "2020-07-01")) == list(event)


def test_older_versions_do_not_show_what_they_did_not_know() -> None:
    shown = projected(a_tape(a_showing(a_raw_event())))
    old = body(shown, "2017-03-01")
    assert old["Resources"] == ["_web-0"]
    assert old["NotBefore"] == "2026-01-31T13:15:00Z"
    assert "Description" not in old


def test_newer_versions_do_not_know_what_was_not_recorded() -> None:
    event = a_raw_event(Resources=["_web-0", "role"], NotBefore="2026-01-31T12:15:00Z")
    for name in ("Description", "EventSource", "DurationInSeconds"):
        del event[name]
    tape = a_tape(a_showing(event), header=a_header(api_version="2017-03-01"))
    new = body(projected(tape), "2020-07-01")
    assert new["Resources"] == ["web-0", "role"]
    assert new["DurationInSeconds"] == -1
    assert new["Description"] == ""
    assert new["NotBefore"] == "Sat, 31 Jan 2026 13:15:00 GMT"
    assert body(projected(tape), "2017-03-01")["Resources"] == ["_web-0", "role"]


def test_a_second_turn_tells_of_other_events_and_always_of_the_same_ones() -> None:
    tape = a_tape(a_showing(a_raw_event()))
    first, again, third = (projected(tape, turn) for turn in (0, 1, 2))
    assert first.document.events[0].id == GUID
    ids = {each.document.events[0].id for each in (first, again, third)}
    assert len(ids) == 3
    assert projected(tape, 1).document == again.document
    tags = {each.audience.epoch for each in (first, again, third)}
    assert len(tags) == 3


def test_halves_of_characters_can_be_answered() -> None:
    shown = projected(a_tape(a_showing(a_raw_event(Description="\ud800"))))
    assert body(shown, "2020-07-01")["Description"] == "?"
    assert body(shown, "2019-08-01")["Description"] == "?"


def test_all_vms_of_the_tape_can_ask_and_the_recorded_one_is_the_first() -> None:
    event = a_raw_event(Resources=["web-0", "WEB-1"])
    again = a_raw_event(Resources=["web-1", "web-2"])
    tape = a_tape(
        a_showing(event),
        a_showing(again),
        Showing(after=1.0, document=None),
        header=a_header(vm="web-2"),
    )
    assert [each.name for each in vms_of(tape, None)] == ["web-2", "web-0", "WEB-1"]
    named = [each.name for each in vms_of(tape, "db")]
    assert named == ["db", "web-2", "web-0", "WEB-1"]


def test_a_tape_that_names_no_vm_has_one_all_the_same() -> None:
    assert [each.name for each in vms_of(a_tape(a_showing()), None)] == ["vm-0"]


def test_names_of_2017_03_01_lose_their_mark() -> None:
    event = a_raw_event(Resources=["_web-0", "role"])
    tape = a_tape(a_showing(event), header=a_header(api_version="2017-03-01"))
    assert [(each.name, each.paas) for each in vms_of(tape, None)] == [
        ("web-0", False),
        ("role", True),
    ]
