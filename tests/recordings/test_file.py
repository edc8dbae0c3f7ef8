"""Recording files: always valid, and never overwritten."""

import os
from pathlib import Path

import pytest
from tests.recordings.recordings import (
    a_header,
    a_raw_event,
    a_recorded_document,
    a_recording,
    text_of,
)

from forewarn.errors import CannotStart, FaultyFile, Unavailable
from forewarn.recordings.file import MAX_SIZE, RecordingFile, read_recording


def test_every_line_is_flushed_immediately(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    with RecordingFile.create(path, a_header()) as recording:
        assert read_recording(path).header == a_header()
        recording.add(a_recorded_document())
        assert read_recording(path).lines == [a_recorded_document()]


def test_a_recording_is_readable_only_by_its_owner(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    RecordingFile.create(path, a_header()).close()
    assert path.stat().st_mode & 0o777 == 0o600


def test_an_existing_file_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    path.write_text("old")
    with pytest.raises(CannotStart, match="already exists; use --append"):
        RecordingFile.create(path, a_header())
    assert path.read_text() == "old"


def test_a_missing_folder_is_reported(tmp_path: Path) -> None:
    with pytest.raises(CannotStart, match=r"cannot create .*: No such file"):
        RecordingFile.create(tmp_path / "no" / "recording.jsonl", a_header())
    with pytest.raises(CannotStart, match=r"cannot read .*: No such file"):
        read_recording(tmp_path / "no" / "recording.jsonl")


def test_an_endless_file_is_refused_at_the_maximum_size() -> None:
    with pytest.raises(
        CannotStart, match="/dev/zero is too large: recordings are limited to 64 MiB"
    ):
        read_recording(Path("/dev/zero"))


def test_a_pipe_is_read() -> None:
    reading, writing = os.pipe()
    os.write(writing, text_of(a_recording()).encode())
    os.close(writing)
    read = read_recording(Path(f"/dev/fd/{reading}"))
    assert read.lines == [a_recorded_document()]
    os.close(reading)


def test_a_recording_never_becomes_too_large_to_read(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    RecordingFile.create(path, a_header()).close()
    with path.open("ab") as file:  # a blank line, which is ignored
        file.write(b"\n".rjust(MAX_SIZE - path.stat().st_size))
    recording = RecordingFile.append_to(path, read_recording(path))
    with (
        recording,
        pytest.raises(Unavailable, match="is full: recordings are limited to 64 MiB"),
    ):
        recording.add(a_recorded_document())
    assert path.stat().st_size == MAX_SIZE


@pytest.mark.parametrize("end", ["", "\n", '\n{"after_seconds":1,"doc'])
def test_a_recording_is_continued_after_its_last_complete_line(
    tmp_path: Path, end: str
) -> None:
    path = tmp_path / "recording.jsonl"
    path.write_text(text_of(a_recording()).rstrip("\n") + end)
    other = a_recorded_document(a_raw_event(), after=7.0)
    with RecordingFile.append_to(path, read_recording(path)) as recording:
        recording.add(other)
    continued = read_recording(path)
    assert continued.lines == [a_recorded_document(), other]
    assert not continued.is_cut


def test_binary_data_is_not_a_recording(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    path.write_bytes(b"\xff\xfe\x00\n")
    with pytest.raises(FaultyFile, match="jsonl:1: "):
        read_recording(path)


def test_a_recording_has_one_writer_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "recording.jsonl"
    with RecordingFile.create(path, a_header()):
        before = path.read_bytes()
        with pytest.raises(CannotStart, match="another recorder is writing"):
            RecordingFile.append_to(path, read_recording(path))
        assert path.read_bytes() == before
    RecordingFile.append_to(path, read_recording(path)).close()
