"""systemd unit of the agent, verified by systemd."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from forewarn.agent.systemd import NAME, program, unit_file
from forewarn.errors import InvalidInput

CONFIG = Path("/etc/forewarn/agent.toml")


def verified(folder: Path, text: str) -> tuple[int, str]:
    """Return systemd's exit code and messages about a unit."""
    file = folder / NAME
    file.write_text(text)
    done = subprocess.run(
        ["systemd-analyze", "verify", "--man=no", str(file)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd-analyze")
@pytest.mark.parametrize("folder", ["plain", "50%h $HOME", 'a"b\\c', "it's;\n"])
def test_systemd_accepts_the_unit(tmp_path: Path, folder: str) -> None:
    config = tmp_path / folder / "agent.toml"
    text = unit_file((sys.executable, str(tmp_path / folder)), config)
    assert verified(tmp_path, text) == (0, "")


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd-analyze")
def test_systemd_accepts_a_program_in_an_awkward_folder(tmp_path: Path) -> None:
    called = tmp_path / "a $HOME; 50%h" / "forewarn"
    called.parent.mkdir()
    called.symlink_to(sys.executable)
    assert verified(tmp_path, unit_file((str(called),), CONFIG)) == (0, "")


def test_a_program_that_systemd_cannot_run_is_refused() -> None:
    with pytest.raises(InvalidInput, match="cannot run a program with a quote"):
        unit_file(("/home/o'neill/forewarn",), CONFIG)


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd-analyze")
def test_systemd_rejects_a_faulty_unit(tmp_path: Path) -> None:
    text = unit_file((str(tmp_path / "gone"),), CONFIG) + "Wanted=yes\n"
    code, messages = verified(tmp_path, text)
    assert code != 0
    assert "Unknown key" in messages


def test_special_characters_are_quoted() -> None:
    text = unit_file(("/opt/a b/100%/$x", "$x"), CONFIG)
    assert (
        'ExecStart="/opt/a b/100%%/$x" "$$x" agent --config /etc/forewarn/agent.toml\n'
    ) in text


@pytest.mark.parametrize(
    ("called", "is_archive", "words"),
    [
        ("/opt/venv/bin/forewarn", False, ("/opt/venv/bin/forewarn",)),
        ("/opt/forewarn.pyz", True, ("/usr/bin/python3.11", "/opt/forewarn.pyz")),
        (
            "/usr/lib/python3/forewarn/__main__.py",
            False,
            ("/usr/bin/python3.11", "-m", "forewarn"),
        ),
    ],
)
def test_the_unit_runs_the_program_that_wrote_it(
    called: str, is_archive: bool, words: tuple[str, ...]
) -> None:
    assert program(Path(called), "/usr/bin/python3.11", is_archive=is_archive) == words


def test_a_relative_program_path_becomes_absolute(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert program(Path("bin/forewarn"), "python", is_archive=False) == (
        f"{tmp_path}/bin/forewarn",
    )


@pytest.mark.parametrize(
    "line",
    [
        "Type=notify",
        "NotifyAccess=main",
        "WatchdogSec=60",
        "Restart=always",
        "StartLimitIntervalSec=0",
        "KillMode=mixed",
        "OOMPolicy=continue",
        "StateDirectory=forewarn-agent",
        "WantedBy=multi-user.target",
    ],
)
def test_the_unit_contains_a_line(line: str) -> None:
    assert f"\n{line}\n" in unit_file(("/usr/bin/forewarn",), CONFIG)
