"""Event states in memory and on disk."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from tests.agent.support.events import NOON, a_run, a_state, an_event
from tests.agent.support.full_disk import LimitedDisk

from forewarn.agent.events.state import LastStatus
from forewarn.agent.storage.memory import MOST_COMPLETED, StateMemory
from forewarn.agent.storage.store import Disk, StateStore
from forewarn.errors import Unavailable


@pytest.fixture
def disk() -> LimitedDisk:
    return LimitedDisk()


@pytest.fixture
def store(tmp_path: Path, disk: LimitedDisk) -> Iterator[StateStore]:
    store = StateStore(tmp_path, Disk(write=disk.write))
    store.open()
    yield store
    store.close()


def test_a_saved_state_is_restored(store: StateStore) -> None:
    StateMemory(store, lambda _: None).put(a_state())
    memory = StateMemory(store, lambda _: None)
    assert memory.load() == ()
    assert memory.find("e1") == a_state()


def test_a_state_refused_by_a_full_disk_is_known_but_not_safe(
    store: StateStore, disk: LimitedDisk
) -> None:
    complaints: list[Unavailable | None] = []
    memory = StateMemory(store, complaints.append)
    disk.is_full = True
    memory.put(a_state())
    assert memory.find("E1") == a_state()
    assert not memory.is_saved(a_state())
    assert memory.has_unsaved
    assert "No space left" in str(complaints[-1])


def test_live_and_unfinished_events_are_distinguished(
    store: StateStore,
) -> None:
    memory = StateMemory(store, lambda _: None)
    gone = replace(a_state(event=an_event("E2")), seen=LastStatus.GONE)
    over = replace(a_state(event=an_event("E3")), seen=LastStatus.GONE, over_at=NOON)
    for state in (a_state(), gone, over):
        memory.put(state)
    assert [state.id for state in memory.live()] == ["E1"]
    assert [state.id for state in memory.unfinished()] == ["E1", "E2"]


def test_an_event_is_forgotten_a_week_after_its_end(store: StateStore) -> None:
    memory = StateMemory(store, lambda _: None)
    memory.put(replace(a_state(), seen=LastStatus.GONE, over_at=NOON))
    memory.delete_old(NOON + timedelta(days=7))
    assert memory.find("E1") is not None
    memory.delete_old(NOON + timedelta(days=7, seconds=1))
    assert memory.find("E1") is None
    assert store.load().states == {}


def test_only_the_latest_completed_events_are_remembered(
    store: StateStore, tmp_path: Path
) -> None:
    memory = StateMemory(store, lambda _: None)
    memory.put(a_state(runs=(a_run(),)))  # older than all, and not complete
    for number in range(MOST_COMPLETED + 5):
        state = a_state(event=an_event(f"X{number:04}"))
        over_at = NOON + timedelta(seconds=number)
        memory.put(replace(state, seen=LastStatus.GONE, over_at=over_at))
    memory.delete_old(NOON)
    kept = [state.id for state in memory.by_id.values()]
    assert kept == ["E1", *(f"X{n:04}" for n in range(5, MOST_COMPLETED + 5))]
    assert len([*(tmp_path / "events").iterdir()]) == MOST_COMPLETED + 1


def test_saving_is_retried_and_the_warning_ends_when_everything_is_saved(
    store: StateStore, disk: LimitedDisk
) -> None:
    complaints: list[Unavailable | None] = []
    memory = StateMemory(store, complaints.append)
    disk.is_full = True
    memory.put(a_state())
    memory.put(a_state(event=an_event("E2")))
    memory.retry_unsaved()
    disk.is_full = False
    memory.put(a_state())
    assert None not in complaints
    assert memory.is_saved(a_state())
    assert memory.has_unsaved
    memory.retry_unsaved()
    assert complaints[-1] is None
    assert [*store.load().states] == ["E1", "E2"]


def test_a_forgotten_event_is_not_saved_again(
    store: StateStore, disk: LimitedDisk
) -> None:
    complaints: list[Unavailable | None] = []
    memory = StateMemory(store, complaints.append)
    disk.is_full = True
    memory.put(replace(a_state(), seen=LastStatus.GONE, over_at=NOON))
    memory.delete_old(NOON + timedelta(days=8))
    assert not memory.has_unsaved
    memory.retry_unsaved()
    assert memory.find("E1") is None
