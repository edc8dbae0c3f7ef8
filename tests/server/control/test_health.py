"""/healthz and /readyz: from memory, with reasons."""

import json
import sqlite3
from contextlib import AbstractContextManager, closing
from inspect import iscoroutinefunction
from pathlib import Path
from threading import Thread, current_thread
from typing import Any

import pytest
from fastapi.routing import APIRoute
from tests.server.control.test_journal import following, read_stream
from tests.server.support.scrapes import scrape
from tests.server.support.service import TOKEN, a_config, a_service

from forewarn.ports import Snapshot, Transaction
from forewarn.server.control.routes.system import health_router
from forewarn.service.service import Service


@pytest.mark.parametrize("route", health_router.routes, ids=lambda route: route.path)
def test_health_checks_wait_for_no_thread(route: APIRoute) -> None:
    assert iscoroutinefunction(route.endpoint)
    assert route.dependant.dependencies == []


def test_health_does_not_read_the_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    used_by: list[Thread] = []
    with Service(a_config(tmp_path), TOKEN, is_guest=True) as service:
        store = service.engine.store
        snapshot, transaction = store.snapshot, store.transaction

        def record_snapshot() -> AbstractContextManager[Snapshot]:
            used_by.append(current_thread())
            return snapshot()

        def record_transaction() -> AbstractContextManager[Transaction]:
            used_by.append(current_thread())
            return transaction()

        with monkeypatch.context() as patch:
            patch.setattr(store, "snapshot", record_snapshot)
            patch.setattr(store, "transaction", record_transaction)
            assert service.health().problems == []
    assert current_thread() not in used_by


def test_damaged_store_gets_503_without_retry_after(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "kept.db"
    order = {"type": "Reboot", "vms": ["web-0"]}
    with a_service(tmp_path, store=f"sqlite:///{path}") as service:
        (event,) = service.announce(vms=["web-0"])["events"]
        with closing(sqlite3.connect(path)) as database:
            database.execute("DROP TABLE events")
        for _ in range(3):
            refused = service.request("POST", "/v1/maintenances", order)
            assert refused.status == 503
            assert refused.headers["Retry-After"] is None
        by_vm = service.approve_as("web-0", event["id"])
        assert (by_vm.status, by_vm.headers["Retry-After"]) == (503, None)
        service.advance(60)  # saves a heartbeat, which needs no damaged table
        readiness = service.request("GET", "/readyz")
        assert readiness.status == 503
        assert "no such table: events; stop forewarn and restore a backup" in str(
            readiness.json["reason"]
        )
        metrics = scrape(service)
        assert metrics.value("forewarn_store_writable") == 0
        assert metrics.value("forewarn_store_write_failures_total") >= 3
    logged = [
        line for line in caplog.messages if line.startswith("store writes failed: ")
    ]
    assert len(logged) == 1


def test_failed_writes_are_sent_to_the_portal_until_they_succeed(
    tmp_path: Path,
) -> None:
    path = tmp_path / "kept.db"
    with (
        a_service(tmp_path, store=f"sqlite:///{path}") as service,
        following(service, "?also=health") as stream,
    ):

        def next_problems() -> list[Any]:
            (event,) = read_stream(stream, 1)
            assert event["event"] == "health"
            items: list[Any] = json.loads(event["data"])["items"]
            return items

        assert next_problems() == []
        path.rename(tmp_path / "moved.db")
        order = {"type": "Reboot", "vms": ["web-0"]}
        assert service.request("POST", "/v1/maintenances", order).status == 503
        (problem,) = next_problems()
        assert problem["text"].startswith("writes are failing: ")
        assert "moved or deleted while the service was running" in problem["text"]
        assert isinstance(problem["seconds"], int)
        (tmp_path / "moved.db").rename(path)
        assert next_problems() == []
        assert service.get("/readyz")["status"] == "ready"


def test_clock_behind_the_journal_is_a_warning_of_a_ready_service(
    tmp_path: Path,
) -> None:
    store = f"sqlite:///{tmp_path / 'kept.db'}"
    with a_service(tmp_path, store=store) as service:
        service.advance(30 * 60 * 60)
        service.announce(vms=["web-0"])
        ahead = service.get("/v1/clock")["now"]
    with a_service(tmp_path, store=store, clock="system") as service:
        service.announce(vms=["web-1"])
        (warning,) = service.get("/readyz")["warnings"]
        assert f"clock is paused until {ahead[:19]}" in warning
        assert service.get("/v1/clock")["stands_still_until"][:19] == ahead[:19]
