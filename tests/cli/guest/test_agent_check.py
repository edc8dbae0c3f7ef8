"""Tests of `forewarn agent check`."""

import json
from pathlib import Path

import pytest

from forewarn.cli.main import main

Capture = pytest.CaptureFixture[str]

GOOD = """\
[hooks.drain]
command = ["/bin/true"]
[[rules]]
prepare = ["drain"]
"""


def a_file(folder: Path, text: str) -> str:
    file = folder / "agent.toml"
    file.write_text(f'state = "{folder / "state"}"\n{text}')
    return str(file)


def test_good_file_is_accepted_and_nothing_is_created(
    tmp_path: Path, capsys: Capture
) -> None:
    assert main(["agent", "check", "--config", a_file(tmp_path, GOOD)]) == 0
    assert capsys.readouterr().out.endswith("agent.toml is valid: 1 rule, 1 hook\n")
    assert not (tmp_path / "state").exists()


def test_missing_command_is_reported(tmp_path: Path, capsys: Capture) -> None:
    file = a_file(tmp_path, GOOD.replace("/bin/true", "/no/such"))
    assert main(["agent", "check", "--config", file]) == 1
    assert 'hook "drain": /no/such does not exist' in capsys.readouterr().err


def test_misspelled_key_is_reported_with_its_line(
    tmp_path: Path, capsys: Capture
) -> None:
    file = a_file(tmp_path, GOOD + 'aprove = "never"\n')
    assert main(["agent", "check", "--config", file]) == 1
    assert (
        "line 6: aprove in [[rules]] number 1: unknown key" in capsys.readouterr().err
    )


def test_unused_hook_is_a_warning_not_a_failure(
    tmp_path: Path, capsys: Capture
) -> None:
    file = a_file(tmp_path, '[hooks.idle]\ncommand = ["/bin/true"]\n' + GOOD)
    assert main(["agent", "check", "--config", file]) == 0
    assert "warning: " in capsys.readouterr().err


def test_check_prints_json(tmp_path: Path, capsys: Capture) -> None:
    file = a_file(tmp_path, GOOD.replace("/bin/true", "/no/such"))
    assert main(["agent", "check", "--config", file, "--json"]) == 1
    report = json.loads(capsys.readouterr().out)
    assert report["wrong"] == ['hook "drain": /no/such does not exist']
    assert (report["rules"], report["hooks"]) == (["rule 1"], ["drain"])
