"""The scenarios that come along."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from forewarn.errors import NotFound
from forewarn.testing import shipped

ROOT = Path(__file__).parents[2]

NAMES = [
    "canceled-maintenance",
    "concurrent-events",
    "degraded-hardware",
    "host-failure",
    "host-maintenance",
    "live-migration",
    "outage",
    "scale-in",
    "silence",
    "spot-eviction",
    "user-reboot",
    "user-redeploy",
]


def test_twelve_are_shipped() -> None:
    assert shipped.names() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_each_can_be_read_and_says_what_it_is(name: str) -> None:
    scenario = shipped.load(name)
    assert scenario.name == name
    assert len(scenario.title) < 60  # it stands in a table
    assert len(scenario.description) > 200
    assert scenario.throughout.approves_only_its_own


@pytest.mark.parametrize("name", NAMES)
def test_none_needs_a_program_that_makes_marks(name: str) -> None:
    text = shipped.find(name).read_text()
    assert "mark" not in text


def test_a_file_is_preferred_to_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert shipped.find("outage").parent.name == "scenarios"
    Path("outage").write_text("")
    assert shipped.find("outage") == Path("outage")
    assert shipped.find("outage.toml") == Path("outage.toml")  # is not there
    assert shipped.find("./silence") == Path("silence")


def test_an_unknown_name_is_refused_with_what_was_meant() -> None:
    with pytest.raises(NotFound, match='did you mean "user-reboot"'):
        shipped.find("user-rebot")
    with pytest.raises(NotFound, match="--list"):
        shipped.find("zzz")


def test_the_wheel_has_them(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d"]
    subprocess.run([*command, str(tmp_path)], cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        within = {name for name in packed.namelist() if "/scenarios/" in name}
    assert within == {f"forewarn/scenarios/{name}.toml" for name in NAMES}
