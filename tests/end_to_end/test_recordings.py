"""Recordings of whole event lifecycles by the real program, and their replay."""

import json
import signal
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.end_to_end.program import FOREWARN, a_reserved_address
from tests.end_to_end.small_disk import a_small_disk
from tests.patience import PATIENCE
from tests.recordings.recordings import (
    GUID,
    a_header,
    a_raw_event,
    a_recorded_document,
    a_recording,
    text_of,
)

from forewarn.client import Client
from forewarn.errors import Refused, Unavailable
from forewarn.recordings.file import RecordingFile, read_recording
from forewarn.recordings.format import RecordedFailure, Recording
from forewarn.testing.rehearsal.rehearsal import Rehearsal
from forewarn.testing.replay.server import Replay


class RunningCommand:
    """A running command and its output."""

    def __init__(self, process: "subprocess.Popen[str]") -> None:
        self.process = process

    def until(self, words: str) -> str:
        """Read output until a line contains `words`, and return that line."""
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if words in line:
                return line
        raise AssertionError(f"it ended without printing {words!r}")

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Send a signal and return the exit code."""
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)


@contextmanager
def running(*words: str | Path) -> Iterator[RunningCommand]:
    """Run a command, and kill it when the block ends."""
    command = [*FOREWARN, *map(str, words)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield RunningCommand(process)
        finally:
            process.kill()


def recording(path: Path, endpoint: str) -> list[str | Path]:
    return ["record", "-o", path, "--append", "--endpoint", endpoint]


def outline(document: Mapping[str, object]) -> tuple[object, ...]:
    """Return a document without its times: the incarnation, event ids and statuses."""
    events = json.loads(json.dumps(document["Events"]))
    states = [(event["EventId"], event["EventStatus"]) for event in events]
    return document["DocumentIncarnation"], *states


def outlines(recording: Recording) -> list[tuple[object, ...]]:
    return [
        outline(showing.document) for showing in recording.documents if showing.document
    ]


def record_events(path: Path) -> None:
    """Record a reboot, a canceled freeze, an outage, and a service with a new store."""
    with (
        a_reserved_address() as where,
        Rehearsal(metadata=where) as rehearsal,
        running(*recording(path, rehearsal.endpoint)) as it,
    ):
        it.until("document 0")
        reboot = rehearsal.reboot("web-0")
        it.until("Reboot Scheduled")
        with Client(rehearsal.endpoint) as client:
            client.approve(reboot.id)
        it.until("Reboot Started")
        rehearsal.advance_to_end(reboot)
        it.until("no events")
        freeze = rehearsal.freeze("web-0")
        it.until("Freeze Scheduled")
        freeze.cancel()
        it.until("document 5  no events")
        rehearsal.service.close()
        it.until("failed: ")
        with Rehearsal(metadata=where):
            it.until("recovered")
            it.until("document 0  no events")
            assert it.end() == 0


@pytest.mark.full
def test_a_recorded_event_is_replayed_in_the_same_order(
    tmp_path: Path,
) -> None:
    path = tmp_path / "recording.jsonl"
    record_events(path)
    recording = read_recording(path)
    assert [each[0] for each in outlines(recording)] == [0, 1, 2, 3, 4, 5, 0]
    troubles = [each for each in recording.lines if isinstance(each, RecordedFailure)]
    assert troubles[-1].what is None
    heard: list[tuple[object, ...]] = []
    refused: set[int] = set()
    with (
        Replay(recording, speed=10_000, shown=1) as replay,
        Client(replay.base) as client,
    ):
        tag: str | None = None
        while not replay.is_over.wait(0.02):
            try:
                reading = client.read(tag=tag)
            except Refused as refusal:
                refused.add(refusal.status)
                continue
            if reading.document is not None and reading.answer is not None:
                heard.append(outline(json.loads(reading.answer.body)))
            tag = reading.tag
    assert heard == outlines(recording)
    assert refused == {503}  # while it was away


def test_a_killed_recording_can_be_continued(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    with Rehearsal() as rehearsal:
        words = recording(path, rehearsal.endpoint)
        with running(*words) as it:
            it.until("document 0")
            assert it.end(signal.SIGKILL) == -signal.SIGKILL
        with path.open("a") as file:
            file.write('{"after_seconds":1,"docum')
        rehearsal.reboot("web-0")
        with running(*words) as it:
            it.until("recording continues")
            it.until("document 1  Reboot Scheduled")
            assert it.end(signal.SIGINT) == 0
    assert [entry[0] for entry in outlines(read_recording(path))] == [0, 1]


def test_an_approval_during_a_replay_is_printed_with_its_vm(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    path.write_text(text_of(a_recording(a_recorded_document(a_raw_event()))))
    words = ["--metadata", "127.0.0.1:0", "--expect-approval"]
    with running("replay", path, *words) as it:
        endpoint = it.until("metadata").split()[1]
        with Client(endpoint) as client:
            client.approve(*client.document().events)
        assert f" web-0 approved Reboot {GUID} of web-0" in it.until("approved")
        assert it.end() == 0


def test_a_full_disk_keeps_what_was_recorded(tmp_path: Path) -> None:
    folder = tmp_path / "disk"
    folder.mkdir()
    with a_small_disk(folder) as disk:
        path = disk.outside / "recording.jsonl"
        long = a_recorded_document(a_raw_event(Resources=["web"] * 2_000))  # many pages
        with RecordingFile.create(path, a_header()) as recording:
            recording.add(a_recorded_document())
            disk.fill()
            with pytest.raises(Unavailable, match="No space left on device"):
                recording.add(long)
            with pytest.raises(Unavailable, match="No space left on device"):
                RecordingFile.create(disk.outside / "other.jsonl", a_header())
            assert not (disk.outside / "other.jsonl").exists()
            assert read_recording(path).lines == [a_recorded_document()]
            disk.free()
            recording.add(long)
        assert read_recording(path).lines == [a_recorded_document(), long]
