"""Tests of `forewarn agent report`, which summarizes the agent's audit record.

It also works on a copy of the agent's state folder. `tests/agent/audit/test_golden.py`
compares whole reports, as text and as JSON.
"""

import json
import shutil
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest
from tests.agent.support.audit_records import (
    A_REBOOT,
    CALLED_OFF,
    Line,
    a_line,
    a_sighting,
)
from tests.agent.support.stored_states import ID

from forewarn.agent.audit.log import AuditLog
from forewarn.agent.storage.store import StateStore
from forewarn.cli import options
from forewarn.cli.guest import agent_report
from forewarn.cli.main import main
from forewarn.cli.options import CommandParser
from forewarn.errors import CannotStart, NotFound, Unavailable

Report = Callable[..., str]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    folder = tmp_path / "agent"
    folder.mkdir()
    return folder


def write(state: Path, lines: Iterable[Line]) -> None:
    audit = AuditLog(state / "audit.jsonl")
    for line in lines:
        audit.write(line)


@pytest.fixture
def report(state: Path, capsys: pytest.CaptureFixture[str]) -> Report:
    def run(*words: str, where: tuple[str, ...] = ("--state", str(state))) -> str:
        parser = CommandParser()
        agent_report.register(parser.add_subparsers())
        args = parser.parse_args(["report", *words, *where])
        options.apply_environment(args)
        assert args.run(args) == 0
        return capsys.readouterr().out

    return run


# --- all events --------------------------------------------------------------


@pytest.mark.parametrize(
    ("more", "outcome"),
    [
        ([], "not started"),
        ([a_line("started")], "in progress"),
        (
            [a_line("started", early=True, approved_elsewhere=True)],
            "approved elsewhere, in progress",
        ),
        (
            [a_line("gone", impact={"boots": 0, "seconds": 3.0, "total": 4.0})],
            "interrupted for 4 s",
        ),
    ],
)
def test_list_shows_the_progress_of_an_event(
    report: Report, state: Path, more: list[Line], outcome: str
) -> None:
    write(state, [a_sighting(), *more])
    assert outcome in " ".join(report().split())


def test_ids_are_shortened_no_further_than_they_differ(
    report: Report, state: Path
) -> None:
    write(state, [a_sighting(f"{ID[:12]}-{end}") for end in "EF"])
    listing = report()
    assert f"\n{ID[:12]}-E  " in listing
    assert f"\n{ID[:12]}-F  " in listing


def test_list_fits_80_columns_with_long_ids(report: Report, state: Path) -> None:
    write(state, [a_sighting(f"{ID[:-1]}{end}") for end in "EF"])
    assert max(map(len, report().splitlines())) <= 80


def test_report_without_events(report: Report, state: Path) -> None:
    write(state, [a_line("began", event=None)])
    assert report() == "No events yet.\n"
    assert json.loads(report("--json")) == []


# --- one event ---------------------------------------------------------------


def test_post_mortem_page_shows_the_real_output(report: Report, state: Path) -> None:
    write(state, A_REBOOT)
    page = Path(__file__).parents[3] / "docs" / "how-to" / "write-a-post-mortem.md"
    text = page.read_text()
    assert f"# forewarn agent report\n{report()}```" in text
    story = report("0a4b")
    assert f"# forewarn agent report 0a4b\n{story}```" in text
    assert max(map(len, story.splitlines())) <= 80


@pytest.mark.parametrize("short", ["0A4B7C1E", "0a4b", "0", ID.lower()])
def test_id_may_be_shortened_and_in_any_case(
    report: Report, state: Path, short: str
) -> None:
    write(state, [*A_REBOOT, *CALLED_OFF])
    assert f"event        {ID}\n" in report(short)


def test_exact_id_is_preferred_to_a_longer_one(report: Report, state: Path) -> None:
    write(state, [a_sighting("E2"), a_sighting("E22")])
    assert "event        E2\n" in report("E2")


def test_ambiguous_id_is_refused(report: Report, state: Path) -> None:
    write(state, [a_sighting("E21"), a_sighting("E22")])
    with pytest.raises(NotFound, match="several event IDs start with E2: E21, E22"):
        report("E2")


@pytest.mark.parametrize("unknown", ["FFFF", f"{ID}0"])
def test_an_unknown_id_is_refused(report: Report, state: Path, unknown: str) -> None:
    write(state, A_REBOOT)
    with pytest.raises(NotFound, match=f"event {unknown}"):
        report(unknown)


def test_empty_id_matches_no_event(report: Report, state: Path) -> None:
    write(state, A_REBOOT)
    with pytest.raises(NotFound):
        report("")


def test_hook_output_cannot_move_the_cursor(report: Report, state: Path) -> None:
    write(state, [a_sighting(), a_line("hook-ended", output="a\x1b[2Jb\x07")])
    assert "\x1b" not in report(ID)


@pytest.mark.parametrize("odd", [None, "", "x", [], {}, -1, "0001-01-01T00:00+14:00"])
def test_odd_line_is_still_shown(report: Report, state: Path, odd: object) -> None:
    shown = a_sighting()["event_as_shown"]
    assert isinstance(shown, dict)
    for name in ("at", "notice_seconds", "event_as_shown"):
        write(state, [{**a_sighting(), name: odd}])
    for name in shown:
        write(state, [{**a_sighting(), "event_as_shown": {**shown, name: odd}}])
        assert report()
        assert report(ID)
        assert report(ID, "--json")


# --- location of the state folder --------------------------------------------


def test_report_works_while_the_agent_runs(report: Report, state: Path) -> None:
    keeping = StateStore(state)
    keeping.open()
    write(state, A_REBOOT)
    assert "0A4B7C1E" in report()
    keeping.close()


def test_report_works_on_a_copy(report: Report, state: Path, tmp_path: Path) -> None:
    write(state, A_REBOOT)
    copy = shutil.copytree(state, tmp_path / "copy")
    copy.chmod(0o500)
    assert "0A4B7C1E" in report(where=("--state", str(copy)))


def test_state_folder_comes_from_the_agent_file(
    report: Report, state: Path, tmp_path: Path
) -> None:
    write(state, A_REBOOT)
    file = tmp_path / "agent.toml"
    for named in (str(state), state.name):
        file.write_text(f"state = {json.dumps(named)}\n")
        assert "0A4B7C1E" in report(where=("--config", str(file)))


@pytest.mark.parametrize(
    ("text", "why"),
    [(None, "cannot read"), ("x", "not valid TOML"), ("\xff", "UTF-8")],
)
def test_unreadable_agent_file_is_an_error_message(
    report: Report, tmp_path: Path, text: str | None, why: str
) -> None:
    file = tmp_path / "agent.toml"
    if text is not None:
        file.write_text(text, encoding="latin-1")
    with pytest.raises(CannotStart, match=why):
        report(where=("--config", str(file)))


def test_state_folder_comes_from_the_environment(
    report: Report, state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(state, A_REBOOT)
    monkeypatch.setenv("FOREWARN_AGENT_STATE", str(state))
    assert "0A4B7C1E" in report(where=())


def test_folder_without_a_record_is_an_error_message(
    report: Report, tmp_path: Path
) -> None:
    for where in ("none", "agent"):
        with pytest.raises(NotFound, match="contains no agent audit log"):
            report(where=("--state", str(tmp_path / where)))


def test_unreadable_record_is_an_error_message(report: Report, state: Path) -> None:
    (state / "audit.jsonl").mkdir()
    with pytest.raises(Unavailable, match=r"cannot read .*: Is a directory"):
        report()


def test_broken_lines_are_skipped_with_a_warning(
    report: Report, state: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (state / "audit.jsonl").write_text('{"at": "2026\n')
    write(state, A_REBOOT)
    assert main(["agent", "report", "--state", str(state)]) == 0
    captured = capsys.readouterr()
    assert "0A4B7C1E" in captured.out
    assert captured.err == "forewarn: 1 line in the audit log could not be read\n"
