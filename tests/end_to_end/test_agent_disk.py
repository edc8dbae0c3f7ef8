"""Agent state on a full or read-only disk: nothing saved earlier is lost."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.agent.support.stored_states import ID, a_state
from tests.end_to_end.small_disk import SmallDisk, a_small_disk

from forewarn.agent.audit.log import AuditLog, AuditLogReader
from forewarn.agent.storage.store import StateStore
from forewarn.errors import Unavailable

FORMER, NEW = a_state(boot="former"), a_state(boot="new", runs=100)  # many pages


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    folder = tmp_path / "disk"
    folder.mkdir()
    with a_small_disk(folder) as disk:
        yield disk


@pytest.fixture
def store(disk: SmallDisk) -> Iterator[StateStore]:
    store = StateStore(disk.outside / "state")
    store.open()
    store.save(FORMER)
    yield store
    store.close()


def test_a_full_disk_keeps_the_old_state_and_saves_the_new_one_later(
    disk: SmallDisk, store: StateStore
) -> None:
    disk.fill()
    with pytest.raises(Unavailable, match="No space left on device"):
        store.save(NEW)
    assert store.load().states == {ID: FORMER}
    assert store.load().problems == ()
    disk.free()
    store.save(NEW)
    assert store.load().states == {ID: NEW}


def test_a_read_only_disk_keeps_the_old_state(
    disk: SmallDisk, store: StateStore
) -> None:
    store.close()  # files open for writing prevent a read-only remount
    disk.make_read_only()
    with pytest.raises(Unavailable, match="Read-only file system"):
        store.save(NEW)
    assert store.load().states == {ID: FORMER}


def test_a_full_disk_costs_the_audit_log_only_one_line(disk: SmallDisk) -> None:
    path = disk.outside / "audit.jsonl"
    audit = AuditLog(path)
    audit.write({"n": 0})
    disk.fill()
    with pytest.raises(Unavailable, match="cannot write"):
        audit.write({"n": 1, "output": "x" * 9_000})
    disk.free()
    audit.write({"n": 2})
    assert [line["n"] for line in AuditLogReader(path)] == [0, 2]
