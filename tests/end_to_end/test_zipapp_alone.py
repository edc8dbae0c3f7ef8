"""The wheel and the zipapp, where nothing but Python is installed."""

import json
import os
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.recordings.recordings import (
    a_raw_event,
    a_recorded_document,
    a_recording,
    text_of,
)

from forewarn.cli import main
from forewarn.cli.setup.completion import SHELLS

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "src" / "forewarn" / "cli" / "setup" / "shells"
SERVER_SIDE = tuple(
    f"forewarn/{each}/" for each in ("compose", "server", "engine", "stores")
)


def run(*words: str | Path, folder: Path) -> "subprocess.CompletedProcess[str]":
    """Run a command in an environment without this checkout."""
    return subprocess.run(
        [str(word) for word in words],
        cwd=folder,
        env={"PATH": os.environ["PATH"], "HOME": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )


# --- the wheel ---------------------------------------------------------------


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return an environment that contains only the wheel."""
    folder = tmp_path_factory.mktemp("bare")
    hatch = (sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", folder)
    built = run(*hatch, folder=ROOT)
    assert built.returncode == 0, built.stderr
    (wheel,) = folder.glob("*.whl")
    environment = folder / "venv"
    venv = run(
        sys.executable, "-m", "venv", "--without-pip", environment, folder=folder
    )
    assert venv.returncode == 0, venv.stderr
    pip = (sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check")
    put = ("--python", environment / "bin/python", "install", "--no-index", wheel)
    done = run(*pip, *put, folder=folder)  # --no-index: a dependency would be missing
    assert done.returncode == 0, done.stderr
    return environment


def test_the_wheel_has_no_dependencies(installed: Path) -> None:
    version = sysconfig.get_python_version()
    site = installed / "lib" / f"python{version}" / "site-packages"
    names = {path.name.partition("-")[0] for path in site.iterdir()}
    assert names == {"forewarn"}


def test_the_wheel_has_the_portal(installed: Path) -> None:
    version = sysconfig.get_python_version()
    site = installed / "lib" / f"python{version}" / "site-packages"
    portal = Path("forewarn/server/portal")
    there = {path.name for path in (site / portal).rglob("*") if path.is_file()}
    ours = (ROOT / "src" / portal).rglob("*")
    assert there == {path.name for path in ours if path.is_file()}
    assert {"index.html", "preact.js", "LICENSE"} <= there


def test_the_client_and_the_agent_need_only_the_standard_library(
    installed: Path, tmp_path: Path
) -> None:
    code = "import forewarn.client, forewarn.agent.main"
    done = run(installed / "bin/python", "-c", code, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")


def test_the_wheel_has_every_command(installed: Path, tmp_path: Path) -> None:
    done = run(installed / "bin/forewarn", "--help", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    for command in main.COMMANDS:
        assert f"\n  {command} " in done.stdout


@pytest.mark.parametrize("shell", SHELLS)
def test_the_wheel_has_the_completion_scripts(installed: Path, shell: str) -> None:
    done = run(installed / "bin/forewarn", "completion", shell, folder=installed)
    assert done.stdout == (FOLDER / f"completion.{shell}").read_text()


def test_the_wheel_has_the_man_pages(installed: Path) -> None:
    names = [path.name for path in (installed / "share/man/man1").iterdir()]
    assert sorted(names) == sorted(page.name for page in (ROOT / "docs/man").iterdir())


def test_the_wheel_has_the_agent(installed: Path, tmp_path: Path) -> None:
    done = run(installed / "bin/forewarn", "agent", "--help", folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("usage: forewarn agent ")


def test_scenarios_can_be_checked_without_the_service(
    installed: Path, tmp_path: Path
) -> None:
    words = ("rehearse", "--check", "user-reboot")
    done = run(installed / "bin/forewarn", *words, folder=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("user-reboot: ok, ")


def test_a_rehearsal_names_the_missing_extra(installed: Path, tmp_path: Path) -> None:
    words = ("rehearse", "user-reboot", "--", "true")
    done = run(installed / "bin/forewarn", *words, folder=tmp_path)
    assert done.returncode == 1
    assert "-m pip install " in done.stderr
    assert "[server]" in done.stderr


# --- the zipapp --------------------------------------------------------------


def build(path: Path) -> Path:
    done = run(ROOT / "scripts/zipapp", path, folder=path.parent)
    assert done.returncode == 0, done.stderr
    return path


@pytest.fixture(scope="module")
def archive(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(tmp_path_factory.mktemp("one") / "forewarn.pyz")


def run_zipapp(archive: Path, *words: str, python: Sequence[str] = ("-I", "-S")) -> str:
    """Run the file with a Python that sees nothing else, and return its output."""
    done = run(sys.executable, *python, archive, *words, folder=archive.parent)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def test_the_zipapp_has_every_command(archive: Path) -> None:
    output = run_zipapp(archive, "--help")
    for command in main.COMMANDS:
        assert f"\n  {command} " in output


def test_the_zipapp_has_the_agent(archive: Path) -> None:
    assert run_zipapp(archive, "agent", "--help").startswith("usage: forewarn agent ")


@pytest.mark.parametrize("shell", SHELLS)
def test_the_zipapp_has_the_completion_scripts(archive: Path, shell: str) -> None:
    script = FOLDER / f"completion.{shell}"
    assert run_zipapp(archive, "completion", shell) == script.read_text()


def test_the_zipapp_is_executable(archive: Path) -> None:
    done = run(archive, "--version", folder=archive.parent)
    assert (done.returncode, done.stderr) == (0, "")
    assert archive.stat().st_mode & 0o111 == 0o111


def test_the_zipapp_reports_that_it_lacks_the_service(archive: Path) -> None:
    with zipfile.ZipFile(archive) as content:
        names = content.namelist()
    assert "forewarn/agent/config/plan.py" in names
    assert "LICENSE" in names
    assert not [name for name in names if name.startswith(SERVER_SIDE)]
    for words in (("serve", "--store", "memory"), ("rehearse", "--list")):
        command = (sys.executable, "-I", "-S", archive, *words)
        done = run(*command, folder=archive.parent)
        assert done.returncode == 1
        assert "install the package with its server extra" in done.stderr
        assert "Traceback" not in done.stderr


def test_the_zipapp_records_but_does_not_replay(archive: Path, tmp_path: Path) -> None:
    recording = tmp_path / "recording.jsonl"
    recording.write_text(text_of(a_recording(a_recorded_document(a_raw_event()))))
    scrubbed = tmp_path / "scrubbed.jsonl"
    run_zipapp(
        archive, "record", "--scrub", "--recording", str(recording), "-o", str(scrubbed)
    )
    assert "web-0" not in scrubbed.read_text()
    words = ("-I", "-S", archive, "replay", recording)
    done = run(sys.executable, *words, folder=archive.parent)
    assert done.returncode == 1
    assert "`forewarn replay` requires the server extra" in done.stderr


def test_the_same_sources_give_the_same_zipapp(archive: Path, tmp_path: Path) -> None:
    assert build(tmp_path / "again.pyz").read_bytes() == archive.read_bytes()
    with zipfile.ZipFile(archive) as content:
        inside = content.infolist()
    assert {member.date_time for member in inside} == {(1980, 1, 1, 0, 0, 0)}
    names = [member.filename for member in inside]
    assert names == sorted(names)


def test_the_unit_of_the_zipapp_names_its_python(archive: Path) -> None:
    output = run_zipapp(archive, "agent", "install", "--print", "--json")
    text = json.loads(output)["text"]
    assert f"\nExecStart={sys.executable} {archive} agent --config /etc/" in text
