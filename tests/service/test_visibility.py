"""A commit is visible to VMs before its command gets a response."""

from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from tests.engine.support.system import a_system
from tests.postgres import PostgresServer
from tests.server.support.service import a_service

from forewarn.core.lifecycle.facts import JournalEntry
from forewarn.engine.readers import documents as document_reader
from forewarn.errors import Unavailable
from forewarn.ports import Snapshot
from forewarn.service.service import JournalReaders
from forewarn.stores.sqlite import MEMORY, Sqlite
from forewarn.stores.store import SqlStore

CUT = "the store has ended the connection"


class FlakyDocuments:
    """Documents that cannot be read the first few times."""

    def __init__(self, failures: int) -> None:
        self.failures = failures
        self.position = 0

    def catch_up(self, to: int = 0) -> None:
        if self.failures:
            self.failures -= 1
            raise Unavailable(CUT)
        self.position = to


def readers_of(documents: FlakyDocuments, patience: float) -> JournalReaders:
    store = SqlStore(Sqlite(MEMORY))
    store.open()
    system = a_system(store)
    idle = cast(Any, SimpleNamespace)(
        reload_if_stale=lambda: None,
        catch_up=lambda: None,
        ring=lambda: None,
        threads=(),
    )
    return JournalReaders(
        system.engine,
        tokens=idle,
        documents=cast(Any, documents),
        driver_runner=system.works,
        metrics_reader=idle,
        notifications=idle,
        patience=patience,
    )


def test_commit_is_shown_again_on_a_new_connection(
    caplog: pytest.LogCaptureFixture,
) -> None:
    documents = FlakyDocuments(failures=2)
    readers_of(documents, patience=60.0).wake(7)
    assert documents.position == 7
    assert caplog.messages == [f"showing a commit to VMs: {CUT}; trying again"]
    assert "Traceback" not in caplog.text


def test_command_whose_commit_stays_invisible_fails() -> None:
    documents = FlakyDocuments(failures=100)
    with pytest.raises(Unavailable, match=f"saved, but VMs cannot see it yet: {CUT}"):
        readers_of(documents, patience=0.0).wake(7)


def test_stop_does_not_wait_for_a_commit_to_be_shown() -> None:
    readers = readers_of(FlakyDocuments(failures=100_000), patience=3600.0)
    readers.leave()
    with pytest.raises(Unavailable):
        readers.wake(7)


def test_commit_settles_sign_outs_in_doubt() -> None:
    readers, reloads = readers_of(FlakyDocuments(failures=0), patience=0.0), []
    sessions = SimpleNamespace(reload_if_stale=lambda: reloads.append(1))
    readers.sessions = cast(Any, sessions)
    readers.wake(7)
    assert reloads == [1]


def test_commit_is_visible_although_postgres_cut_the_connection_after_it(
    tmp_path: Path, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, cuts = document_reader._update, list[Sequence[JournalEntry]]()

    def cut_once(
        snapshot: Snapshot, entries: Sequence[JournalEntry]
    ) -> document_reader.DocumentUpdate:
        if not cuts:
            cuts.append(entries)
            postgres.run(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
                " WHERE usename = 'forewarn'"
            )
        return read(snapshot, entries)

    store = postgres.url(schema=postgres.new_schema())
    with a_service(tmp_path, store=store) as service:
        monkeypatch.setattr(document_reader, "_update", cut_once)
        service.announce(vms=["web-0"])
        assert len(service.document("web-0")["Events"]) == 1
        assert cuts
