"""Tests of `forewarn replay`: output and exit codes."""

import json
import re
from pathlib import Path

import pytest
from tests.cli.support.command_line import Cli
from tests.recordings.recordings import (
    GUID,
    a_failure,
    a_raw_event,
    a_recorded_document,
    a_recording,
    text_of,
)

from forewarn.cli import main

Capture = pytest.CaptureFixture[str]

ALL = "--speed 6000 --at-once --once --metadata 127.0.0.1:0 --shown 0"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "recording.jsonl"
    recording = a_recording(
        a_recorded_document(),
        a_recorded_document(a_raw_event(), after=60.0, incarnation=2),
        a_failure(after=120.0),
        a_failure(None, after=121.0),
        a_recorded_document(after=180.0, incarnation=3),
    )
    path.write_text(text_of(recording))
    return path


def test_recording_is_printed_line_by_line(path: Path, run: Cli) -> None:
    where, what, *lines, last = run(f"replay {path} {ALL}").splitlines()
    assert re.fullmatch(r"metadata  http://127\.0\.0\.1:\d+", where)
    assert what == f"{path}: 3 documents in 3 min, replayed in 0 s at speed 6000"
    assert [line[22:] for line in lines] == [
        "document 1  no events",
        "document 2  Reboot Scheduled web-0",
        "failed: 503",
        "recovered",
        "document 3  no events",
    ]
    assert last == "end of the recording"


def test_replay_prints_json(path: Path, run: Cli) -> None:
    printed = run(f"replay {path} --json {ALL}").splitlines()
    first, *lines, last = map(json.loads, printed)
    assert first["documents"] == 3
    assert first["metadata"][0].startswith("http://127.0.0.1:")
    assert [*lines[0]] == ["at", "document"]
    assert lines[2]["failure"] == "503"
    assert last == {"over": True}


def test_unapproved_event_is_named_if_approval_was_expected(
    path: Path, capsys: Capture
) -> None:
    assert main.main(f"replay {path} --expect-approval {ALL}".split()) == 1
    assert capsys.readouterr().err == (
        f"forewarn: Reboot {GUID} of web-0 was not approved while it was Scheduled\n"
    )


def test_truncated_line_is_skipped_with_a_warning(path: Path, capsys: Capture) -> None:
    path.write_text(path.read_text()[:-5])
    assert main.main(f"replay {path} {ALL}".split()) == 0
    captured = capsys.readouterr()
    assert "which is incomplete" in captured.err
    assert "document 3" not in captured.out


@pytest.mark.parametrize(
    ("words", "code", "sentence"),
    [
        ("{recording} --speed 0", 2, "invalid speed '0'"),
        ("{recording} --speed nan", 2, "invalid speed 'nan'"),
        ("{recording} --once --loop", 2, "cannot be used together with"),
        ("{recording} --expect-approval --loop", 2, "cannot be used together"),
        ("{recording} --metadata here", 2, "an address such as 127.0.0.1:"),
        ("{recording} --metadata 192.0.2.1:1", 1, "cannot listen on 192.0.2.1:1: "),
        ("no.jsonl", 1, "cannot read no.jsonl: No such file"),
        ("/dev/null", 1, "/dev/null:1: the line is not valid JSON"),
    ],
)
def test_invalid_replay_is_refused(
    path: Path, words: str, code: int, sentence: str, run: Cli
) -> None:
    message = run(f"replay {words.format(recording=path)}", code=code)
    assert sentence in " ".join(message.split())


PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "record-and-replay.md"
TYPED = re.findall(r"^forewarn (re.+?)(?: &)?$", PAGE.read_text(), re.MULTILINE)


@pytest.mark.parametrize("typed", TYPED)
def test_commands_of_the_page_are_known_to_the_program(
    typed: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    monkeypatch.chdir(tmp_path)
    assert "cannot read recording.jsonl: No such file" in run(typed, code=1)
