"""Bundled scenarios."""

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


def test_twelve_scenarios_are_bundled() -> None:
    assert shipped.names() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_bundled_scenario_can_be_read_and_has_a_description(name: str) -> None:
    scenario = shipped.load(name)
    assert scenario.name == name
    assert len(scenario.title) < 60  # shown in a table
    assert len(scenario.description) > 200
    assert scenario.throughout.approves_only_its_own


@pytest.mark.parametrize("name", NAMES)
def test_bundled_scenarios_need_no_marks(name: str) -> None:
    text = shipped.find(name).read_text()
    assert "mark" not in text


def test_file_is_preferred_to_a_bundled_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert shipped.find("outage").parent.name == "scenarios"
    Path("outage").write_text("")
    assert shipped.find("outage") == Path("outage")
    assert shipped.find("outage.toml") == Path("outage.toml")  # the file does not exist
    assert shipped.find("./silence") == Path("silence")


def test_unknown_name_is_refused_with_a_suggestion() -> None:
    with pytest.raises(NotFound, match='did you mean "user-reboot"'):
        shipped.find("user-rebot")
    with pytest.raises(NotFound, match="--list"):
        shipped.find("zzz")


def test_wheel_contains_the_scenarios(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d"]
    subprocess.run([*command, str(tmp_path)], cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        within = {name for name in packed.namelist() if "/scenarios/" in name}
    assert within == {f"forewarn/scenarios/{name}.toml" for name in NAMES}
