"""Plain-text tables and times."""

import json
import sys
import tomllib
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from io import BytesIO, TextIOWrapper

import pytest
from tests.cli.support.samples import M1
from tests.cli.support.terminals import open_terminal

from forewarn.cli import output
from forewarn.errors import Unreachable

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def test_table_is_only_as_wide_as_needed() -> None:
    text = output.table(("A", "NAME"), [("1", "web-0"), ("10", "x")])
    assert text.splitlines() == ["A   NAME", "1   web-0", "10  x"]


def test_row_is_one_line_that_fits_the_terminal_and_keeps_the_id() -> None:
    vms = ", ".join(f"web-{number}" for number in range(40))
    text = output.table(("ID", "EVENT", "VMS"), [(M1, "Reboot", vms)])
    _, row = text.splitlines()
    assert row.startswith(f"{M1}  Reboot  web-0, ")
    assert row.endswith("…")
    assert len(row) == 80


def test_wide_terminal_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    text = output.table(("A", "B"), [("a " * 45, "b " * 40)])
    assert "…" not in text


def test_no_cell_is_shortened_if_the_output_is_not_a_terminal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("COLUMNS")
    assert "v" * 200 in output.table(("ID", "VM"), [(M1, "v" * 200)])


def test_watched_output_continues_after_a_lost_connection(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lost = Unreachable("gone")
    steps: Iterator[str | Unreachable] = iter(["1", lost, lost, "1", "2"])

    def show() -> int:
        step = next(steps)
        if isinstance(step, Unreachable):
            raise step
        output.write(step)
        return int(step == "2")

    assert output.watch_output(show, pause=lambda _: None) == 1
    assert capsys.readouterr() == ("1\n1\n2\n", "forewarn: gone; retrying\n")


def test_watch_of_an_unreachable_service_fails() -> None:
    def show() -> int:
        raise Unreachable("gone")

    with pytest.raises(Unreachable):
        output.watch_output(show)


def test_empty_column_is_omitted() -> None:
    text = output.table(("VM", "ZONE", "HOST"), [("a", "", "h"), ("b", "", "h")])
    assert text.splitlines() == ["VM  HOST", "a   h", "b   h"]


def test_styled_line_is_colored_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    line = output.Styled("FAILED \x1b[0m", "red")
    output.write(line)
    assert capsys.readouterr().out == "FAILED \\u001b[0m\n"
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    with open_terminal() as terminal:
        monkeypatch.setattr(sys, "stdout", terminal.stream)
        output.write(line)
        terminal.stream.flush()
        assert terminal.read() == "\x1b[31mFAILED \\u001b[0m\x1b[0m\r\n"


def test_control_characters_are_removed() -> None:
    text = output.table(("A",), [("x\x1b[2J\ny\u202e",)])
    assert text.splitlines() == ["A", "x [2J y"]


def test_fields_are_aligned_and_wrapped() -> None:
    text = output.fields([("id", "1"), ("gone", None), ("note", "word " * 20)])
    first, second, *rest = text.splitlines()
    assert first == "  id    1"
    assert second.startswith("  note  word")
    assert all(line.startswith("        word") for line in rest)
    assert max(map(len, text.splitlines())) <= 80


def test_time_is_shown_in_utc_with_its_distance() -> None:
    moment = datetime.fromisoformat("2026-01-01T14:14:00+02:00")
    text = output.fields([("at", output.format_when(moment, NOON))])
    assert text == "  at  2026-01-01 12:14:00Z (in 14 min)"


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [
        (0, "now"),
        (45, "in 45 s"),
        (-180, "3 min ago"),
        (570, "in 9 min 30 s"),
        (899, "in 15 min"),
        (7_500, "in 2 h 5 min"),
        (-90_000, "1 d 1 h ago"),
    ],
)
def test_distance_is_shown_in_two_units(seconds: int, shown: str) -> None:
    assert output.format_distance(NOON + timedelta(seconds=seconds), NOON) == shown


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp1252", "utf-8"])
def test_json_is_valid_in_every_encoding(
    monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    out = TextIOWrapper(BytesIO(), encoding)
    monkeypatch.setattr("sys.stdout", out)
    output.write_json({"reason": "caf\xe9 \u20ac \U0001f600"}, indent=None)
    out.seek(0)
    assert json.loads(out.read()) == {"reason": "caf\xe9 \u20ac \U0001f600"}


def test_unencodable_characters_are_escaped_as_in_toml(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    out = TextIOWrapper(BytesIO(), "ascii")
    monkeypatch.setattr("sys.stdout", out)
    output.write('name = "caf\xe9 \U0001f600"')
    out.seek(0)
    assert tomllib.loads(out.read()) == {"name": "caf\xe9 \U0001f600"}


def test_json_and_text_hold_no_raw_controls(capsys: pytest.CaptureFixture[str]) -> None:
    reason = "so\x7f\x9b5m\u202eend"
    output.write_json({"reason": reason})
    printed = capsys.readouterr().out
    assert json.loads(printed) == {"reason": reason}
    output.write(f"left\t\x1b]0;{reason}")
    printed += capsys.readouterr().out
    assert "left\t\\u001b]0;so" in printed
    assert not {"\x1b", "\x7f", "\x9b", "\u202e"} & {*printed}
