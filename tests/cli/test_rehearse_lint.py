"""`forewarn rehearse --lint`, with programs that are done with quickly."""

import argparse
import json
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from forewarn.cli.rehearse_lint import lint
from forewarn.errors import WrongUsage

ROOT = Path(__file__).parents[2]
MODULE = "tests.testing.bad_clients.ends_while_quiet"
ENDS = ["env", f"PYTHONPATH={ROOT}", sys.executable, "-m", MODULE]


def options(**given: object) -> argparse.Namespace:
    usual = {
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


def test_a_program_that_hurts_fails_and_is_told_why(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert lint(options(), ENDS) == 1
    said = capsys.readouterr()
    assert [line for line in said.out.splitlines() if len(line) > 80] == []
    assert "ends-while-quiet" in said.out
    assert "ERROR" in said.out
    assert "Do: Let it run as long as the VM does" in said.out
    assert "FAILED in 0 s: 1 error, 0 warnings, 0 pieces of advice" in said.out
    assert "step 1 of 10: done: nothing is announced" in said.err


def test_what_is_ignored_does_not_fail(capsys: pytest.CaptureFixture[str]) -> None:
    assert lint(options(ignore=["ends-while-quiet"], quiet=True), ENDS) == 0
    said = capsys.readouterr()
    assert "ends-while-quiet" not in said.out
    assert said.out.startswith("PASSED")
    assert said.err == ""


def test_programs_and_ci_are_told_too(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    junit = tmp_path / "lint.xml"
    assert lint(options(json=True, junit=str(junit), quiet=True), ENDS) == 1
    said = json.loads(capsys.readouterr().out)
    assert said["passed"] is False
    assert ElementTree.parse(junit).getroot()[0].get("failures") == "1"


def test_a_rule_that_is_not_there_cannot_be_ignored() -> None:
    with pytest.raises(WrongUsage, match="there is no rule no-hat; there are never-"):
        lint(options(ignore=["no-hat"]), ENDS)
