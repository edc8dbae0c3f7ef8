"""Tests of `forewarn rehearse --lint`, with programs that end quickly."""

import argparse
import json
import re
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.cli.support.terminals import ERASE, open_terminal
from tests.testing.clients import command_of, ends_while_quiet

from forewarn.cli.rehearse.lint import lint
from forewarn.errors import WrongUsage

ENDS = command_of(ends_while_quiet)


def options(**given: object) -> argparse.Namespace:
    usual = {
        "program": ENDS,
        "metadata": "127.0.0.1:0",
        "timeout": 300,
        "output": None,
        "strict": None,
        "ignore": None,
        "junit": None,
        "json": None,
        "quiet": None,
        "verbose": None,
    }
    return argparse.Namespace(**{**usual, **given})


def test_harmful_program_fails_with_a_reason(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert lint(options()) == 1
    captured = capsys.readouterr()
    assert [line for line in captured.out.splitlines() if len(line) > 80] == []
    lines = captured.out.splitlines()
    assert lines[:2] == [
        "error: ends-while-quiet",
        "  What  ended with exit code 0 after 1 poll",
    ]
    assert re.fullmatch(
        r"  When  .*s after the start, in part 1 of 11: nothing is announced", lines[2]
    )
    assert "  Do    Keep the program running as long as the VM runs" in captured.out
    assert re.fullmatch(
        r"\d rules passed and \d+ could not be checked; --verbose lists them", lines[-2]
    )
    assert re.fullmatch(r"FAILED in \S+ s: 1 error", lines[-1])
    assert "step 1 of 11: done: nothing is announced" in captured.err


def test_verbose_lists_the_other_rules_before_the_summary(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lint(options(verbose=True))
    text = capsys.readouterr().out
    lines = text.splitlines()
    assert lines[0] == "error: ends-while-quiet"
    assert re.search(r"^  never-asks +polled once$", text, re.MULTILINE)
    assert re.search(r"^  hammers +it received no 429$", text, re.MULTILINE)
    assert lines[-1].startswith("FAILED")
    assert [line for line in lines if len(line) > 80] == []


def test_progress_does_not_disturb_json(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with open_terminal() as terminal:
        monkeypatch.setattr(sys, "stderr", terminal.stream)
        lint(options(json=True))
        shown = terminal.read()
    assert "0/11" in shown
    assert shown.endswith(ERASE)
    assert json.loads(capsys.readouterr().out)["passed"] is False


def test_time_limit_must_leave_time_to_start() -> None:
    with pytest.raises(WrongUsage, match="--timeout must be at least 5s with --lint"):
        lint(options(timeout=3))


def test_ignored_rule_does_not_fail(capsys: pytest.CaptureFixture[str]) -> None:
    assert lint(options(ignore=["ends-while-quiet"], quiet=True)) == 0
    captured = capsys.readouterr()
    assert "ends-while-quiet" not in captured.out
    assert captured.out.startswith("PASSED")
    assert captured.err == ""


def test_lint_writes_json_and_junit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    junit = tmp_path / "lint.xml"
    assert lint(options(json=True, junit=str(junit), quiet=True)) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["passed"] is False
    failed = ElementTree.parse(junit).findall(".//testcase[failure]")
    assert "ends-while-quiet" in [case.get("name") for case in failed]


def test_unknown_rule_cannot_be_ignored() -> None:
    with pytest.raises(WrongUsage, match="unknown rule 'zzz'; expected one of: never-"):
        lint(options(ignore=["zzz"]))
    with pytest.raises(WrongUsage, match="unknown rule 'hammer'; did you mean hammers"):
        lint(options(ignore=["hammer"]))
