"""Data of an earlier version: stores and agent state still open with all their content.

`tests/golden/earlier` was written by commit 209cd76: a SQLite store as SQL, the state
directory of an agent that was killed, and what that version returned for both.
"""

import json
import sqlite3
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from tests.server.support.service import RunningService, a_service

from forewarn.agent.events.state import HookOutcome
from forewarn.agent.storage.store import StateStore
from forewarn.cli.main import main

EARLIER = Path(__file__).parents[1] / "golden" / "earlier"

#: Names that responses have had since then, by the names of that time.
RENAMED = {
    "listening": "enabled",
    "listening_since": "enabled_since",
    "ListeningBegan": "Enabled",
}


def _renamed(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    return {
        RENAMED.get(name, name): RENAMED.get(value, value) if name == "fact" else value
        for name, value in pairs
    }


def _labeled(plain: Any, labels: Mapping[str, str]) -> Any:
    """Replace the IDs of maintenance operations with `labels`, and add their GUIDs."""
    if isinstance(plain, list):
        return [_labeled(item, labels) for item in plain]
    if isinstance(plain, dict):
        own = {"guid": plain["id"]} if plain.get("id") in labels else {}
        return {name: _labeled(value, labels) for name, value in plain.items()} | own
    return labels.get(plain, plain) if isinstance(plain, str) else plain


_PLAIN: dict[str, Any] = json.loads(
    (EARLIER / "responses.json").read_text(), object_pairs_hook=_renamed
)
#: Labels of the maintenance operations, in order of announcement, keyed by GUID.
LABELS = {
    item["id"]: f"m-{number}" for number, item in enumerate(_PLAIN["maintenances"], 1)
}
RESPONSES: dict[str, Any] = _labeled(_PLAIN, LABELS)

#: Fields that responses have had only since then, with the values of earlier data.
ADDED: dict[str, dict[str, object]] = {
    "groups": {"eviction_policy": None},
    "vms": {"os": "linux", "eviction_policy": None, "deallocated": False},
}


@pytest.fixture
def store(tmp_path: Path) -> str:
    """Return the URL of the earlier store."""
    file = tmp_path / "forewarn.db"
    with closing(sqlite3.connect(file)) as database:
        database.executescript((EARLIER / "store.sql").read_text())
    return f"sqlite:///{file}"


def test_a_store_opens_with_all_its_content(tmp_path: Path, store: str) -> None:
    with a_service(tmp_path, store=store, fleet=None, driver="operator") as service:
        for resource in ("maintenances", "vms", "groups", "hosts"):
            items = service.get(f"/v1/{resource}?limit=100")["items"]
            assert items == _with_added(resource, RESPONSES[resource]), resource
        earlier = [
            {name: _with_added(name, value) for name, value in entry.items()}
            for entry in RESPONSES["journal"]
        ]
        entries = service.facts()[: len(earlier)]
        assert all(entry.pop("text") for entry in entries)  # added since
        assert entries == earlier


def test_maintenance_in_the_store_is_found_by_its_guid_and_label(
    tmp_path: Path, store: str
) -> None:
    with a_service(tmp_path, store=store, fleet=None, driver="operator") as service:
        for any_id in (*LABELS, *LABELS.values()):
            maintenance = service.get(f"/v1/maintenances/{any_id}")
            assert any_id in (maintenance["id"], maintenance["guid"])
            assert LABELS[maintenance["guid"]] == maintenance["id"]
        service.announce(vms=["web-0"])
        assert service.get("/v1/maintenances/m-6")["vms"] == ["web-0"]


def _with_added(resource: str, value: Any) -> Any:
    """Return a list of resources with the fields that were added since."""
    if resource not in ADDED or not isinstance(value, list):
        return value
    added = ADDED[resource]
    return [{**row, **added} if isinstance(row, dict) else row for row in value]


def test_events_in_the_store_continue(tmp_path: Path, store: str) -> None:
    with a_service(tmp_path, store=store, fleet=None, driver="operator") as service:
        freeze = _scheduled(service, "web-1", "Freeze")
        assert service.approve_as("web-1", freeze).status == 200
        assert len(service.facts("Approved")) == 2
        redeploy = _scheduled(service, "batch_3", "Redeploy")
        assert service.approve_as("batch_3", redeploy).status == 200
        assert len(service.facts("Approved")) == 3


def _scheduled(service: RunningService, vm: str, kind: str) -> str:
    (event,) = (
        event["EventId"]
        for event in service.document(vm)["Events"]
        if (event["EventType"], event["EventStatus"]) == (kind, "Scheduled")
    )
    return str(event)


def test_agent_state_loads_completely() -> None:
    loaded = StateStore(EARLIER / "agent").load()
    assert loaded.problems == ()
    assert len(loaded.states) == 4
    (run,) = loaded.states["A6A663F3-421E-4013-AA50-9BBE282A43B1"].runs
    assert run.outcome is HookOutcome.DONE


def test_an_audit_log_gives_the_same_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    config = tmp_path / "agent.toml"
    config.write_text(f'state = "{EARLIER / "agent"}"\nname = "web-0"\n')
    assert main(["agent", "report", "--config", str(config), "--json"]) == 0
    report = json.loads((EARLIER / "agent" / "report.json").read_text())
    assert json.loads(capsys.readouterr().out) == report
