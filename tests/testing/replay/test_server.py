"""Replay: serving a recording as a service would."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from tests.patience import PATIENCE
from tests.recordings.recordings import (
    GUID,
    a_failure,
    a_header,
    a_raw_event,
    a_recorded_document,
    a_recording,
    text_of,
)

from forewarn.client import Client
from forewarn.errors import InvalidInput, Refused
from forewarn.recordings.format import Line, RecordedDocument, Recording
from forewarn.testing.replay import Replay
from forewarn.testing.replay.projection import ReplayApproval

_LONG = PATIENCE
FAR = 1e6  # seconds into a recording, later than anything else


@dataclass(slots=True)
class RecordedProgress:
    """The progress that a replay reports."""

    lines: list[Line] = field(default_factory=list)
    approvals: list[ReplayApproval] = field(default_factory=list)
    count: int = 0
    is_enough: Event = field(default_factory=Event)

    def line(self, line: Line, at: object) -> None:
        del at
        self.lines.append(line)
        if len(self.lines) == self.count:
            self.is_enough.set()


@contextmanager
def playing(
    recording: Recording | Path,
    *,
    lines: int = 1,
    speed: float = 1.0,
    **options: bool | str,
) -> Iterator[tuple[Replay, RecordedProgress]]:
    """Replay `recording`; if it starts at once, wait until `lines` lines are shown."""
    seen = RecordedProgress(count=lines)
    replay = Replay(
        recording,
        speed=speed,
        shown=0.0,
        is_eager=bool(options.get("is_eager", True)),
        is_looped=bool(options.get("is_looped")),
        vm=str(options["vm"]) if "vm" in options else None,
        on_line=seen.line,
        on_approval=seen.approvals.append,
    )
    with replay:
        if options.get("is_eager", True):
            assert seen.is_enough.wait(_LONG)
        yield replay, seen


def poll(url: str, version: str = "2020-07-01", **headers: str) -> dict[str, object]:
    named = {"Metadata": "true", **headers}
    where = f"{url}/metadata/scheduledevents?api-version={version}"
    with urlopen(Request(where, headers=named), timeout=_LONG) as answer:
        return dict(json.load(answer))


def test_first_recorded_document_is_served_immediately() -> None:
    recording = a_recording(a_recorded_document(a_raw_event(), incarnation=7))
    with playing(recording) as (replay, _), Client(replay.base) as client:
        document = client.document()
    assert document.incarnation == 7
    assert [shown.id for shown in document.events] == [GUID]


def test_notice_is_as_long_as_recorded() -> None:
    line = a_recorded_document(
        a_raw_event(), after=300.0
    )  # ten minutes before NotBefore
    with (
        playing(a_recording(line), speed=0.001) as (replay, _),
        Client(replay.base) as client,
    ):
        (event,) = client.document().events
        left = client.time_left(event)
    assert left is not None
    assert 540 <= left.total_seconds() <= 601


def test_replay_starts_with_the_first_poll() -> None:
    lines = [
        a_recorded_document(),
        a_recorded_document(a_raw_event(), after=0.01, incarnation=2),
    ]
    with playing(a_recording(*lines), lines=2, is_eager=False) as (replay, seen):
        with Client(replay.base) as client:
            assert client.instance().name == "web-0"
            assert seen.lines == []
            assert client.document().incarnation == 1
        assert seen.is_enough.wait(_LONG)
    assert seen.lines == lines


def test_long_poll_returns_the_next_document() -> None:
    lines = [
        a_recorded_document(),
        a_recorded_document(a_raw_event(), after=0.05, incarnation=2),
    ]
    with (
        playing(a_recording(*lines), is_eager=False) as (replay, _),
        Client(replay.base) as client,
    ):
        tag = client.read().tag
        reading = client.read(tag=tag, wait=_LONG)
    assert reading.document is not None
    assert reading.document.incarnation == 2


def test_document_with_an_unchanged_incarnation_is_still_new() -> None:
    lines = [
        a_recorded_document(),
        a_recorded_document(a_raw_event(), after=0.05),
        a_recorded_document(after=0.1),
    ]
    with (
        playing(a_recording(*lines), lines=3) as (replay, _),
        Client(replay.base) as client,
    ):
        old = client.read()
        assert client.read(tag=old.tag).document is None
    assert old.document is not None
    assert old.document.events == ()
    assert old.tag == '"0-2.1"'


def test_every_version_is_served_and_the_header_is_required() -> None:
    with playing(a_recording(a_recorded_document(a_raw_event()))) as (replay, _):
        (old,) = json.loads(json.dumps(poll(replay.base, "2017-03-01")["Events"]))
        assert old["Resources"] == ["_web-0"]
        with pytest.raises(HTTPError, match="400") as refusal:
            poll(replay.base, Metadata="false")
        refusal.value.close()


def test_other_recorded_vms_poll_by_name() -> None:
    event = a_raw_event(Resources=["web-0", "web-1"])
    with playing(a_recording(a_recorded_document(event)), vm="db") as (replay, _):
        for vm, endpoint in (("web-1", replay.endpoint_of("web-1")), ("db", "")):
            with Client(endpoint or replay.base) as client:
                assert client.instance().name == vm
                assert len(client.document().events) == 1


# --- approvals ---------------------------------------------------------------


def test_approval_is_reported_and_changes_nothing() -> None:
    with playing(a_recording(a_recorded_document(a_raw_event()))) as (replay, seen):
        with Client(replay.endpoint_of("web-0")) as client:
            assert [shown.id for shown in replay.unapproved] == [GUID]
            client.approve(GUID.lower())
            assert [shown.status for shown in client.document().events] == ["Scheduled"]
        assert replay.unapproved == []
    (approval,) = seen.approvals
    assert (approval.vm, approval.event.id) == ("web-0", GUID)
    assert approval.is_in_time


def test_event_that_was_never_shown_cannot_be_approved() -> None:
    later = a_raw_event(EventId="E2")
    lines = [a_recorded_document(a_raw_event()), a_recorded_document(later, after=FAR)]
    with playing(a_recording(*lines)) as (replay, seen), Client(replay.base) as client:
        with pytest.raises(Refused, match="E2 is not an event of this VM") as refusal:
            client.approve(GUID, "E2")
        assert refusal.value.status == 400
        assert seen.approvals == []
        assert len(replay.unapproved) == 1


@pytest.mark.parametrize("last", [[a_raw_event(EventStatus="Started")], []])
def test_approval_after_the_start_or_the_end_is_too_late(
    last: list[dict[str, object]],
) -> None:
    lines = [a_recorded_document(a_raw_event()), a_recorded_document(*last, after=0.01)]
    with playing(a_recording(*lines), lines=2) as (replay, seen):
        with Client(replay.base) as client:
            client.approve(GUID)
        assert [entry.is_in_time for entry in seen.approvals] == [False]
        assert [entry.id for entry in replay.unapproved] == [GUID]


def test_event_recorded_as_started_needs_no_approval() -> None:
    with playing(
        a_recording(a_recorded_document(a_raw_event(EventStatus="Started")))
    ) as (replay, _):
        assert replay.unapproved == []


# --- failures and loops ------------------------------------------------------


@pytest.mark.parametrize(
    ("trouble", "status"),
    [("410", 410), ("429", 429), ("503", 503), ("unreachable", 503), ("418", 503)],
)
def test_failure_is_replayed_or_served_as_503(trouble: str, status: int) -> None:
    lines: list[Line] = [a_recorded_document(), a_failure(trouble, after=0.01)]
    with (
        playing(a_recording(*lines), lines=2) as (replay, _),
        Client(replay.base, patience=0) as client,
    ):
        with pytest.raises(Refused) as refusal:
            client.document()
        assert refusal.value.status == status
        assert client.instance().name == "vm-0"


def test_document_is_served_again_after_the_failure() -> None:
    trouble = a_failure(after=0.01), a_failure(None, after=0.02)
    lines: list[Line] = [a_recorded_document(), *trouble]
    with (
        playing(a_recording(*lines), lines=3) as (replay, _),
        Client(replay.base) as client,
    ):
        assert client.document().incarnation == 1


def test_looped_replay_has_new_events_in_each_turn() -> None:
    recording = a_recording(
        a_recorded_document(a_raw_event()), a_recorded_document(after=0.01)
    )
    with playing(recording, lines=4, is_looped=True) as (replay, seen):
        assert replay.is_over.is_set()
        assert len(replay.unapproved) >= 2
    assert len({event.id for event in replay.unapproved}) == len(replay.unapproved)
    assert isinstance(seen.lines[2], RecordedDocument)


def test_replay_is_over_after_its_last_document() -> None:
    with playing(a_recording(a_recorded_document())) as (replay, _):
        assert replay.is_over.wait(_LONG)
        with Client(replay.base) as client:
            assert client.document().incarnation == 1  # still served


def test_recording_can_be_a_file(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    path.write_text(text_of(a_recording(header=a_header(vm="lone"))))
    with playing(path) as (replay, _), Client(replay.base) as client:
        assert client.instance().name == "lone"


def test_recording_without_a_document_is_refused() -> None:
    with pytest.raises(InvalidInput, match="the recording has no documents to replay"):
        Replay(a_recording(a_failure()))
