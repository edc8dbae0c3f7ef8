"""Tests of `forewarn agent install`, without touching this machine's systemd."""

import json
import os
import stat
from pathlib import Path

import pytest

from forewarn.agent.systemd import NAME
from forewarn.cli import options
from forewarn.cli.guest import agent_install
from forewarn.cli.options import CommandParser
from forewarn.errors import Conflict


def install(folder: Path, *words: str) -> int:
    """Run the command as the command line would, with units in `folder`."""
    parser = CommandParser()
    agent_install.register(parser.add_subparsers())
    args = parser.parse_args(["install", "--unit-directory", str(folder), *words])
    options.apply_environment(args)
    return agent_install.run(args)


def test_unit_is_written_and_next_steps_are_printed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "agent.toml"
    file.touch()
    assert install(tmp_path, "--config", str(file)) == 0
    written = tmp_path / NAME
    assert f"agent --config {file}\n" in written.read_text()
    assert stat.S_IMODE(written.stat().st_mode) == 0o644
    assert capsys.readouterr() == (
        f"wrote {written}; next, run:\n"
        "  systemctl daemon-reload\n"
        "  systemctl enable --now forewarn-agent.service\n",
        "",
    )
    assert {path.name for path in tmp_path.iterdir()} == {NAME, "agent.toml"}


def test_missing_config_file_is_mentioned(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert install(tmp_path, "--config", str(tmp_path / "agent.toml")) == 0
    err = capsys.readouterr().err
    assert err.startswith(f"forewarn: {tmp_path}/agent.toml does not exist yet")


def test_config_path_is_made_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    install(tmp_path, "--config", "agent.toml")
    assert f"--config {tmp_path}/agent.toml\n" in (tmp_path / NAME).read_text()


def test_printing_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert install(tmp_path, "--print") == 0
    out, err = capsys.readouterr()
    assert "\n[Service]\nType=notify\n" in out
    assert "agent --config /etc/forewarn/agent.toml\n" in out
    assert err == ""
    assert [*tmp_path.iterdir()] == []


def test_printed_unit_equals_the_written_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install(tmp_path, "--print")
    out = capsys.readouterr().out
    install(tmp_path)
    assert (tmp_path / NAME).read_text() == out


def test_unit_edited_by_hand_is_kept(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text("[Service]\nNice=5\n")
    with pytest.raises(Conflict, match="differs from the new unit; use --print"):
        install(tmp_path)
    assert (tmp_path / NAME).read_text() == "[Service]\nNice=5\n"


def test_force_overwrites_a_changed_unit(tmp_path: Path) -> None:
    (tmp_path / NAME).write_text("[Service]\nNice=5\n")
    assert install(tmp_path, "--force") == 0
    assert "Type=notify" in (tmp_path / NAME).read_text()


def test_installing_again_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install(tmp_path)
    before = (tmp_path / NAME).stat()
    capsys.readouterr()
    assert install(tmp_path) == 0
    assert (tmp_path / NAME).stat().st_ino == before.st_ino
    assert "is up to date" in capsys.readouterr().out


def test_install_prints_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    install(tmp_path, "--json")
    assert json.loads(capsys.readouterr().out) == {
        "unit": f"{tmp_path}/{NAME}",
        "is_new": True,
        "next": [
            "systemctl daemon-reload",
            "systemctl enable --now forewarn-agent.service",
        ],
    }
    install(tmp_path, "--json", "--print")
    shown = json.loads(capsys.readouterr().out)
    assert shown["text"] == (tmp_path / NAME).read_text()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can switch to another user")
def test_install_without_root_is_refused(tmp_path: Path) -> None:
    os.seteuid(65534)
    try:
        with pytest.raises(Conflict, match="run as root, or use --print"):
            install(tmp_path)
    finally:
        os.seteuid(0)


def test_missing_unit_folder_is_an_error_message(tmp_path: Path) -> None:
    with pytest.raises(
        Conflict, match="gone not found: this machine does not seem to use systemd"
    ):
        install(tmp_path / "gone")
