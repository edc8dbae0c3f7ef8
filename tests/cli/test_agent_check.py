"""`forewarn agent check`."""

import json
from pathlib import Path

import pytest

from forewarn.cli import main

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


def test_a_good_file_is_called_good_and_nothing_is_made(
    tmp_path: Path, capsys: Capture
) -> None:
    assert main(["agent", "check", "--config", a_file(tmp_path, GOOD)]) == 0
    assert capsys.readouterr().out.endswith("agent.toml is good: 1 rule, 1 hook\n")
    assert not (tmp_path / "state").exists()


def test_a_command_that_is_missing_is_told(tmp_path: Path, capsys: Capture) -> None:
    file = a_file(tmp_path, GOOD.replace("/bin/true", "/no/such"))
    assert main(["agent", "check", "--config", file]) == 1
    assert 'hook "drain": /no/such does not exist' in capsys.readouterr().err


def test_a_key_that_is_misspelt_is_told_with_its_line(
    tmp_path: Path, capsys: Capture
) -> None:
    file = a_file(tmp_path, GOOD + 'aprove = "never"\n')
    assert main(["agent", "check", "--config", file]) == 1
    assert 'line 6: unknown key "aprove"' in capsys.readouterr().err


def test_what_is_odd_is_a_warning_and_no_failure(
    tmp_path: Path, capsys: Capture
) -> None:
    file = a_file(tmp_path, '[hooks.idle]\ncommand = ["/bin/true"]\n' + GOOD)
    assert main(["agent", "check", "--config", file]) == 0
    assert "warning: " in capsys.readouterr().err


def test_programs_get_json(tmp_path: Path, capsys: Capture) -> None:
    file = a_file(tmp_path, GOOD.replace("/bin/true", "/no/such"))
    assert main(["agent", "check", "--config", file, "--json"]) == 1
    told = json.loads(capsys.readouterr().out)
    assert told["wrong"] == ['hook "drain": /no/such does not exist']
    assert (told["rules"], told["hooks"]) == (["rule 1"], ["drain"])
