"""Bundled scenarios."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from forewarn.errors import NotFound
from forewarn.testing.scenario import parser

ROOT = Path(__file__).parents[3]

NAMES = [
    "canceled-maintenance",
    "concurrent-events",
    "degraded-hardware",
    "host-failure",
    "host-maintenance",
    "incarnation-restart",
    "live-migration",
    "outage",
    "scale-in",
    "spot-eviction",
    "user-reboot",
    "user-redeploy",
]


def test_twelve_scenarios_are_bundled() -> None:
    assert parser.bundled_names() == NAMES


@pytest.mark.parametrize("name", NAMES)
def test_bundled_scenario_can_be_read_and_has_a_description(name: str) -> None:
    scenario = parser.load_scenario(name)
    assert scenario.name == name
    assert len(scenario.title) < 60  # shown in a table
    assert len(scenario.description) > 200
    assert scenario.throughout.approves_only_its_own


@pytest.mark.parametrize("name", NAMES)
def test_bundled_scenarios_need_no_marks(name: str) -> None:
    text = parser.find_scenario(name).read_text()
    assert "mark" not in text


def test_file_is_preferred_to_a_bundled_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert parser.find_scenario("outage").parent.name == "scenarios"
    Path("outage").write_text("")
    assert parser.find_scenario("outage") == Path("outage")
    assert parser.find_scenario("outage.toml") == Path(
        "outage.toml"
    )  # the file does not exist
    assert parser.find_scenario("./scale-in") == Path("scale-in")


def test_unknown_name_is_refused_with_a_suggestion() -> None:
    with pytest.raises(NotFound, match='did you mean "user-reboot"'):
        parser.find_scenario("user-rebot")
    with pytest.raises(NotFound, match="--list"):
        parser.find_scenario("zzz")


def test_wheel_contains_the_scenarios(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d"]
    subprocess.run([*command, str(tmp_path)], cwd=ROOT, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as packed:
        within = {name for name in packed.namelist() if "/scenarios/" in name}
    assert within == {f"forewarn/scenarios/{name}.toml" for name in NAMES}
