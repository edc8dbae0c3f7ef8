"""Tests of `forewarn rehearse --lint`, with programs that end quickly."""

import argparse
import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest
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
    }
    return argparse.Namespace(**{**usual, **given})


def test_harmful_program_fails_with_a_reason(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert lint(options()) == 1
    captured = capsys.readouterr()
    assert [line for line in captured.out.splitlines() if len(line) > 80] == []
    assert "ends-while-quiet" in captured.out
    assert "ERROR" in captured.out
    assert "Do: Keep the program running as long as the VM runs" in captured.out
    assert re.search(r"^FAILED in \d+ s: 1 error, ", captured.out, re.MULTILINE)
    assert "step 1 of 11: done: nothing is announced" in captured.err


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
    with pytest.raises(
        WrongUsage, match="unknown rule 'no-hat'; expected one of: never-"
    ):
        lint(options(ignore=["no-hat"]))
