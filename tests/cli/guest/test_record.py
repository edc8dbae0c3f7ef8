"""Tests of `forewarn record`, against a service with scripted responses."""

import json
import os
import signal
import socket
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.client.support.service import DATE, EMPTY, Act, a_service, hang_up, respond
from tests.patience import PATIENCE
from tests.recordings.recordings import (
    GUID,
    NOON,
    a_header,
    a_raw_document,
    a_raw_event,
    a_recorded_document,
    a_recording,
    text_of,
)

from forewarn.cli import main
from forewarn.recordings.file import read_recording
from forewarn.recordings.format import (
    Line,
    RecordedDocument,
    RecordedFailure,
    RecordingEnd,
    RecordingResumed,
)

Capture = pytest.CaptureFixture[str]

INSTANCE = respond({"compute": {"name": "web-0"}})
SCHEDULED = a_raw_document(a_raw_event())


def respond_at_date(document: object) -> Act:
    return respond(document, Date=DATE, Forewarn_Clock="manual")


def is_ended_by(number: signal.Signals) -> Act:
    """Send this process a signal and never respond."""

    def act(connection: socket.socket) -> bool:
        os.kill(os.getpid(), number)
        connection.settimeout(PATIENCE)
        return bool(connection.recv(1))

    return act


ENDS = is_ended_by(signal.SIGTERM)


def record(path: Path, acts: Sequence[Act], *words: str) -> int:
    """Record a scripted service; the second request reads the VM's name."""
    with a_service(*acts) as service:
        more = ["--endpoint", service.url, "--poll", "0.001", *words]
        return main.main(["record", "-o", str(path), *more])


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "recording.jsonl"


def documents(path: Path) -> list[object]:
    return [showing.document for showing in read_recording(path).documents]


def kinds(lines: Sequence[Line]) -> list[type]:
    return [type(line) for line in lines]


# --- recording ---------------------------------------------------------------


def test_every_changed_document_is_recorded(path: Path, capsys: Capture) -> None:
    acts = [
        respond_at_date(EMPTY),
        INSTANCE,
        respond_at_date(EMPTY),
        respond_at_date(SCHEDULED),
        respond_at_date(SCHEDULED),
        respond_at_date(EMPTY),
        ENDS,
    ]
    assert record(path, acts) == 0
    assert documents(path) == [EMPTY, SCHEDULED, EMPTY]
    recording = read_recording(path)
    assert kinds(recording.lines) == [
        RecordedDocument,
        RecordedDocument,
        RecordedDocument,
        RecordingEnd,
    ]
    assert recording.header.vm == "web-0"
    assert recording.header.began == NOON
    *lines, summary = capsys.readouterr().out.splitlines()
    assert lines == [
        "2026-01-31 12:00:00Z  document 0  no events",
        "2026-01-31 12:00:00Z  document 1  Reboot Scheduled web-0",
        "2026-01-31 12:00:00Z  document 0  no events",
        "2026-01-31 12:00:00Z  recording ends",
    ]
    assert summary.startswith(f"{path}: 3 documents in ")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signal_ends_the_recording_properly(
    path: Path, number: signal.Signals, capsys: Capture
) -> None:
    before = signal.getsignal(number)
    acts = [respond_at_date(EMPTY), INSTANCE, is_ended_by(number)]
    assert record(path, acts, "--json") == 0
    assert kinds(read_recording(path).lines) == [RecordedDocument, RecordingEnd]
    summary = json.loads(capsys.readouterr().out)
    assert summary == {
        "recording": str(path),
        "documents": 1,
        "failures": 0,
        "seconds": summary["seconds"],
    }
    assert signal.getsignal(number) is before


def test_recording_ends_after_its_duration(path: Path) -> None:
    acts = [respond_at_date(EMPTY), INSTANCE]
    assert record(path, acts, "--duration", "1ms") == 0
    assert kinds(read_recording(path).lines)[-1] is RecordingEnd


def test_service_that_does_not_know_the_vm_is_still_recorded(
    path: Path,
) -> None:
    acts = [respond_at_date(EMPTY), respond({"error": "no"}, 404), ENDS]
    assert record(path, acts) == 0
    assert read_recording(path).header.vm is None


def test_permanent_refusal_ends_the_recording_and_keeps_it(
    path: Path, capsys: Capture
) -> None:
    acts = [respond_at_date(EMPTY), INSTANCE, respond({"error": "enough"}, 400)]
    assert record(path, acts) == 1
    assert "enough" in capsys.readouterr().err
    assert kinds(read_recording(path).lines) == [RecordedDocument, RecordedFailure]


def test_unreachable_service_leaves_no_recording(path: Path, capsys: Capture) -> None:
    assert record(path, [hang_up, hang_up]) == 1
    assert "lost the connection to" in capsys.readouterr().err
    assert not path.exists()


def test_other_api_version_is_requested_and_recorded(path: Path) -> None:
    with a_service(respond_at_date(EMPTY), INSTANCE, ENDS) as service:
        words = ["--endpoint", service.url, "--api-version", "2017-03-01"]
        assert main.main(["record", "--output", str(path), *words]) == 0
        assert "api-version=2017-03-01" in service.line(0)
    assert read_recording(path).header.api_version == "2017-03-01"


def test_recording_approves_nothing(path: Path) -> None:
    with a_service(respond_at_date(SCHEDULED), INSTANCE, ENDS) as service:
        words = ["record", "-o", str(path), "--endpoint", service.url]
        assert main.main(words) == 0
        assert {request.partition(b" ")[0] for request in service.requests} == {b"GET"}


# --- existing recordings -----------------------------------------------------


def test_existing_recording_is_not_overwritten(path: Path, capsys: Capture) -> None:
    path.write_text("dear")
    assert record(path, []) == 1
    assert "continue it with --append" in capsys.readouterr().err
    assert path.read_text() == "dear"


def test_append_continues_a_recording_without_repeating_documents(path: Path) -> None:
    header = a_header(api_version="2019-08-01")
    text = text_of(a_recording(a_recorded_document(a_raw_event()), header=header))
    path.write_text(f'{text}{{"after_sec')  # the recorder was killed here
    with a_service(respond_at_date(SCHEDULED), respond_at_date(EMPTY), ENDS) as service:
        words = ["--append", "--endpoint", service.url, "--poll", "0.001"]
        assert main.main(["record", "-o", str(path), *words]) == 0
        assert "api-version=2019-08-01" in service.line(0)
    recording = read_recording(path)
    assert kinds(recording.lines) == [
        RecordedDocument,
        RecordingResumed,
        RecordedDocument,
        RecordingEnd,
    ]
    assert documents(path) == [SCHEDULED, EMPTY]


def test_append_creates_a_missing_recording(path: Path) -> None:
    assert record(path, [respond_at_date(EMPTY), INSTANCE, ENDS], "--append") == 0
    assert documents(path) == [EMPTY]


def test_nothing_is_appended_to_a_scrubbed_recording(
    path: Path, capsys: Capture
) -> None:
    acts = [respond_at_date(EMPTY), INSTANCE, ENDS]
    assert record(path, acts, "--scrub") == 0
    before = path.read_text()
    assert record(path, [], "--append") == 1
    assert "is scrubbed" in capsys.readouterr().err
    assert path.read_text() == before
    assert record(path, [], "--append", "--scrub") == 2


# --- scrubbing ---------------------------------------------------------------


def test_recording_is_scrubbed_while_written(path: Path, capsys: Capture) -> None:
    secret = a_raw_document(a_raw_event(Resources=["contoso"], Description="contoso"))
    acts = [respond_at_date(secret), respond({"compute": {"name": "Contoso"}}), ENDS]
    assert record(path, acts, "--scrub") == 0
    for text in (path.read_text(), capsys.readouterr().out):
        assert "contoso" not in text.lower()
        assert GUID not in text
        assert "127.0.0.1" not in text
        assert "2026" not in text


def test_finished_recording_is_scrubbed_like_a_new_one(
    path: Path, tmp_path: Path, capsys: Capture
) -> None:
    path.write_text(
        text_of(
            a_recording(a_recorded_document(a_raw_event()), RecordingEnd(after=90.0))
        )
        + "{"
    )
    target = tmp_path / "scrubbed.jsonl"
    words = ["record", "--scrub", "--recording", str(path), "-o", str(target)]
    assert main.main(words) == 0
    captured = capsys.readouterr()
    assert captured.out == f"{target}: 1 document in 1 min 30 s, scrubbed\n"
    assert "which is incomplete" in captured.err
    assert read_recording(target).header.is_scrubbed
    assert "web-0" not in target.read_text()
    assert main.main(words) == 1  # the target exists now


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "no output file"),
        (["-o", "x", "--recording", "y"], "--recording requires --scrub"),
        (["-o", "x", "--tape", "y"], "it is now called --recording"),
        (["-o", "x", "--tape=y"], "it is now called --recording"),
        (["-o", "x", "--append", "--scrub"], "scrub the file later"),
        (["-o", "x", "--duration", "soon"], "'soon' is not a duration"),
        (["-o", "x", "--api-version", "a/b"], "invalid api-version"),
    ],
)
def test_wrong_usage_is_reported(
    words: list[str], sentence: str, capsys: Capture
) -> None:
    assert main.main(["record", *words]) == 2
    assert sentence in " ".join(capsys.readouterr().err.split())
