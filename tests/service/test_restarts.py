"""Restarts of a service on the same files."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from queue import Queue
from threading import Event

import pytest
from tests.patience import PATIENCE
from tests.server.support.service import (
    FLEET,
    TOKEN,
    YEAR,
    RunningService,
    a_config,
    a_service,
    send_request,
)

from forewarn.errors import CannotStart, InvalidInput
from forewarn.service.service import Service

EVENTS = "/metadata/scheduledevents?api-version=2020-07-01"
LONE = '[[vms]]\nname = "lone"\n'


@contextmanager
def a_durable_service(
    folder: Path, fleet: str = FLEET, **flags: object
) -> Iterator[RunningService]:
    """Run a service whose store and fleet are files in `folder`."""
    file = folder / "kept.toml"
    file.write_text(fleet)
    store = f"sqlite:///{folder / 'kept.db'}"
    with a_service(folder, store=store, fleet=str(file), **flags) as service:
        yield service


# --- restart -----------------------------------------------------------------


def test_restart_changes_nothing(tmp_path: Path) -> None:
    with a_durable_service(tmp_path) as service:
        service.announce(host="host-a")
        service.advance(60)
        before = [service.document("web-0"), service.facts(), service.get("/v1/clock")]
        tag = service.as_vm("web-0").headers["ETag"]
    with a_durable_service(tmp_path) as service:
        after = [service.document("web-0"), service.facts(), service.get("/v1/clock")]
        assert after == before
        assert service.as_vm("web-0", If_None_Match=tag).status == 304


def test_last_observations_are_written_before_the_stop(tmp_path: Path) -> None:
    with a_durable_service(tmp_path) as service:
        maintenance = service.announce(vms=["web-0"])
        service.document("web-2")
    with a_durable_service(tmp_path) as service:
        (event,) = service.get(f"/v1/maintenances/{maintenance['id']}")["events"]
        assert event["seen_by"] == ["web-2"]


# --- restored backup ---------------------------------------------------------


def test_etag_from_before_a_restore_never_stands_for_a_later_document(
    tmp_path: Path,
) -> None:
    database, backup = tmp_path / "kept.db", tmp_path / "backup.db"
    with a_durable_service(tmp_path):
        pass
    shutil.copy(database, backup)
    with a_durable_service(tmp_path) as service:
        service.announce(vms=["web-0"])
        lost, tag = service.document("web-0"), service.as_vm("web-0").headers["ETag"]
    shutil.copy(backup, database)
    with a_durable_service(tmp_path) as service:
        service.announce(vms=["web-1"])
        response = service.as_vm("web-0", If_None_Match=tag)
        assert response.status == 200
        assert response.headers["ETag"] != tag
        assert response.json["DocumentIncarnation"] == lost["DocumentIncarnation"]
        assert response.json["Events"] != lost["Events"]
        held = service.as_vm("web-0", If_None_Match=tag, Prefer="wait=60")
        assert (held.status, held.body) == (200, response.body)


def test_backup_taken_under_load_is_restored_with_an_intact_journal(
    tmp_path: Path,
) -> None:
    database, backup = tmp_path / "kept.db", tmp_path / "backup.db"
    acknowledged: Queue[int] = Queue()
    stop = Event()

    def wait_for(changes: int) -> None:
        for _ in range(changes):
            acknowledged.get(timeout=PATIENCE)

    def write(service: RunningService, vm: str) -> None:
        for size in count():
            if stop.is_set():
                return
            service.request("PUT", f"/v1/vms/{vm}", {"size": str(size)})
            acknowledged.put(size)

    with a_durable_service(tmp_path) as service, ThreadPoolExecutor() as pool:
        service.announce(vms=["web-0"])
        writers = [pool.submit(write, service, vm) for vm in ("lone", "other", "third")]
        try:
            wait_for(30)
            forewarn_store(database, "backup", str(backup))
            wait_for(acknowledged.qsize() + 1)
        finally:
            stop.set()
        assert [writer.result() for writer in writers] == [None] * 3
    shutil.copy(backup, database)
    assert "content      ok" in forewarn_store(database, "check")
    with a_durable_service(tmp_path) as service:
        positions = [entry["position"] for entry in service.facts()]
        assert positions == [*range(1, len(positions) + 1)]
        assert len(service.facts("FleetChanged")) > 30
        assert len(service.document("web-0")["Events"]) == 1
        service.announce(vms=["db-0"])


def forewarn_store(database: Path, *words: str) -> str:
    """Run `forewarn store` in another process; return what it prints."""
    command = ["-m", "forewarn", "store", *words, "--store", f"sqlite:///{database}"]
    done = subprocess.run(
        [sys.executable, *command], check=True, capture_output=True, timeout=PATIENCE
    )
    return done.stdout.decode()


# --- fleet file --------------------------------------------------------------


def test_unchanged_fleet_file_is_not_applied_again(tmp_path: Path) -> None:
    with a_durable_service(tmp_path) as service:
        service.request("PUT", "/v1/vms/lone", {"size": "mine"})
    with a_durable_service(tmp_path) as service:
        assert service.get("/v1/vms/lone")["size"] == "mine"


def test_changed_fleet_file_replaces_the_fleet(tmp_path: Path) -> None:
    with a_durable_service(tmp_path) as service:
        service.request("PUT", "/v1/vms/lone", {"size": "mine"})
    with a_durable_service(tmp_path, FLEET + "\n") as service:
        assert service.get("/v1/vms/lone")["size"] is None


def test_fleet_file_that_removes_too_much_is_refused(tmp_path: Path) -> None:
    with a_durable_service(tmp_path):
        pass
    with (
        pytest.raises(CannotStart, match="4 of 5 VMs"),
        a_durable_service(tmp_path, LONE),
    ):
        pass
    with a_durable_service(tmp_path) as service:
        assert len(service.get("/v1/vms")["items"]) == 5


def test_without_a_fleet_file_the_fleet_in_the_store_is_served(tmp_path: Path) -> None:
    with a_durable_service(tmp_path):
        pass
    store = f"sqlite:///{tmp_path / 'kept.db'}"
    with a_service(tmp_path, store=store, fleet=None) as service:
        assert service.document("web-0")["Events"] == []


# --- clocks ------------------------------------------------------------------


def test_fast_clock_that_is_ahead_continues_without_an_outage(tmp_path: Path) -> None:
    with a_durable_service(tmp_path) as service:
        service.request("POST", "/v1/clock/advance", {"to": f"{YEAR}-01-01T00:00:00Z"})
    with a_durable_service(tmp_path, clock="x60") as service:
        now = datetime.fromisoformat(service.get("/v1/clock")["now"])
        assert now >= datetime(YEAR, 1, 1, tzinfo=UTC)
        assert service.facts("OutageEnded") == []


# --- addresses ---------------------------------------------------------------


def test_plane_listens_on_every_given_address(tmp_path: Path) -> None:
    config = a_config(tmp_path, metadata=["127.0.0.1:0", "[::1]:0"])
    with Service(config, TOKEN) as system:
        ipv4, ipv6 = system.metadata
        assert ipv6.startswith("http://[::1]:")
        for address in (ipv4, ipv6):
            assert send_request("GET", address + EVENTS, Metadata="true").status == 200


@pytest.mark.parametrize(("is_open", "status"), [(None, 404), (True, 200)])
def test_vm_names_in_the_path_need_permission_on_a_public_address(
    tmp_path: Path, is_open: bool | None, status: int
) -> None:
    config = a_config(tmp_path, metadata=["0.0.0.0:0"], open=is_open)
    with Service(config, TOKEN) as system:
        address = system.metadata[0].replace("0.0.0.0", "127.0.0.1")
        for path in (EVENTS, f"/vm/web-0{EVENTS}"):
            assert send_request("GET", address + path, Metadata="true").status == status


def test_store_in_memory_writes_no_file(tmp_path: Path) -> None:
    with a_service(tmp_path):
        assert [path.name for path in tmp_path.iterdir()] == ["fleet.toml"]


# --- failed starts -----------------------------------------------------------


@pytest.mark.parametrize(
    "flags",
    [
        {"metadata": ["192.0.2.1:0"]},
        {"control": "192.0.2.1:0", "insecure_control": True},
        {"fleet": "missing.toml"},
        {"store": "sqlite:////dev/null/forewarn.db"},
    ],
)
def test_failed_start_leaves_nothing_open(
    tmp_path: Path, flags: dict[str, object]
) -> None:
    system = Service(a_config(tmp_path, **flags), TOKEN)
    with pytest.raises((CannotStart, InvalidInput)):
        system.open()
    system.close()


def test_failed_start_releases_the_store(tmp_path: Path) -> None:
    with pytest.raises(CannotStart), a_durable_service(tmp_path, fleet="nonsense"):
        pass
    with a_durable_service(tmp_path) as service:
        assert service.document("web-0")["Events"] == []


def test_store_is_used_by_one_service_at_a_time(tmp_path: Path) -> None:
    with a_durable_service(tmp_path) as service:
        with pytest.raises(CannotStart, match="in use"), a_durable_service(tmp_path):
            pass
        assert service.document("web-0")["Events"] == []


def test_fleet_file_nested_too_deeply_is_refused(tmp_path: Path) -> None:
    with (
        pytest.raises(CannotStart, match="TOML"),
        a_durable_service(tmp_path, "a=" + "[" * 5000),
    ):
        pass


def test_nonexistent_default_vm_is_logged(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with a_service(tmp_path, default_vm="nobody"):
        assert "VM 'nobody' not found" in caplog.text


# --- rehearsals --------------------------------------------------------------


def test_same_seed_gives_the_same_ids(tmp_path: Path) -> None:
    ids = []
    for seed in (7, 7, 8):
        with a_service(tmp_path, seed=seed) as service:
            ids.append(service.announce(vms=["web-0"])["events"][0]["id"])
    assert ids[0] == ids[1] != ids[2]


def test_guest_opens_its_control_plane_on_request(tmp_path: Path) -> None:
    with Service(a_config(tmp_path), TOKEN, is_guest=True) as system:
        assert system.control == ""
        assert send_request(
            "GET", f"{system.metadata[0]}{EVENTS}", Metadata="true"
        ).status
        system.open_control()
        assert send_request("GET", f"{system.control}/readyz").status == 200
