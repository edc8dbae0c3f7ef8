"""Initial fleet of a service: the demo fleet or a file."""

import subprocess
import sys
from pathlib import Path

import pytest

from forewarn.config.load import SettingSources, load
from forewarn.errors import CannotStart
from forewarn.service.service import Service

MINE = '[[vms]]\nname = "mine"\n'


def vms_of(fleet: str) -> list[str]:
    """Serve `fleet` briefly and return the names of its VMs."""
    flags = {"store": "memory", "fleet": fleet, "metadata": ["127.0.0.1:0"]}
    config = load(SettingSources(flags=flags, environment={"HOME": "."}))
    with (
        Service(config, "token", is_guest=True) as system,
        system.engine.store.snapshot() as snapshot,
    ):
        return [*snapshot.fleet().vms]


def test_demo_fleet_is_found_by_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert vms_of("demo")[0] == "web-0"


def test_file_named_demo_is_preferred_to_the_demo_fleet(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "demo").write_text(MINE)
    assert vms_of("demo") == ["mine"]


def test_unknown_fleet_name_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(CannotStart, match=r"cannot read .*production: no such file"):
        vms_of("production")


def test_libraries_of_the_control_plane_and_postgresql_are_imported_late() -> None:
    program = "import forewarn.service.service, sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    late = {"fastapi", "prometheus_client", "starlette", "uvicorn", "psycopg"}
    assert late.isdisjoint(done.stdout.split())
