"""Event states in memory and on disk."""

from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from tests.agent.support.events import NOON, a_life, an_event
from tests.agent.support.full_disk import Space

from forewarn.agent.events.state import LastStatus
from forewarn.agent.storage.memory import StateMemory
from forewarn.agent.storage.store import Disk, StateStore
from forewarn.errors import Unavailable


@pytest.fixture
def space() -> Space:
    return Space()


@pytest.fixture
def keeping(tmp_path: Path, space: Space) -> Iterator[StateStore]:
    keeping = StateStore(tmp_path, Disk(write=space.write))
    keeping.open()
    yield keeping
    keeping.close()


def test_a_saved_state_is_restored(keeping: StateStore) -> None:
    StateMemory(keeping, lambda _: None).keep(a_life())
    memory = StateMemory(keeping, lambda _: None)
    assert memory.recall() == ()
    assert memory.find("e1") == a_life()


def test_a_state_refused_by_a_full_disk_is_known_but_not_safe(
    keeping: StateStore, space: Space
) -> None:
    complaints: list[Unavailable | None] = []
    memory = StateMemory(keeping, complaints.append)
    space.is_full = True
    memory.keep(a_life())
    assert memory.find("E1") == a_life()
    assert not memory.is_safe(a_life())
    assert memory.is_full
    assert "No space left" in str(complaints[-1])


def test_saving_is_retried_until_the_disk_accepts_it(
    keeping: StateStore, space: Space
) -> None:
    complaints: list[Unavailable | None] = []
    memory = StateMemory(keeping, complaints.append)
    space.is_full = True
    memory.keep(a_life())
    memory.save_again()
    space.is_full = False
    memory.save_again()
    assert memory.is_safe(a_life())
    assert complaints[-1] is None
    assert keeping.load().lives["E1"] == a_life()


def test_live_and_unfinished_events_are_distinguished(
    keeping: StateStore,
) -> None:
    memory = StateMemory(keeping, lambda _: None)
    gone = replace(a_life(event=an_event("E2")), seen=LastStatus.GONE)
    over = replace(a_life(event=an_event("E3")), seen=LastStatus.GONE, over_at=NOON)
    for life in (a_life(), gone, over):
        memory.keep(life)
    assert [life.id for life in memory.live()] == ["E1"]
    assert [life.id for life in memory.unfinished()] == ["E1", "E2"]


def test_an_event_is_forgotten_a_week_after_its_end(keeping: StateStore) -> None:
    memory = StateMemory(keeping, lambda _: None)
    memory.keep(replace(a_life(), seen=LastStatus.GONE, over_at=NOON))
    memory.forget_old(NOON + timedelta(days=7))
    assert memory.find("E1") is not None
    memory.forget_old(NOON + timedelta(days=7, seconds=1))
    assert memory.find("E1") is None
    assert keeping.load().lives == {}


def test_the_warning_ends_only_when_everything_is_saved(
    keeping: StateStore, space: Space
) -> None:
    complaints: list[Unavailable | None] = []
    memory = StateMemory(keeping, complaints.append)
    space.is_full = True
    memory.keep(a_life())
    memory.keep(a_life(event=an_event("E2")))
    space.is_full = False
    memory.keep(a_life())
    assert None not in complaints
    assert memory.is_safe(a_life())
    assert memory.is_full
    memory.save_again()
    assert complaints[-1] is None


def test_a_forgotten_event_is_not_saved_again(
    keeping: StateStore, space: Space
) -> None:
    complaints: list[Unavailable | None] = []
    memory = StateMemory(keeping, complaints.append)
    space.is_full = True
    memory.keep(replace(a_life(), seen=LastStatus.GONE, over_at=NOON))
    memory.forget_old(NOON + timedelta(days=8))
    assert not memory.is_full
    memory.save_again()
    assert memory.find("E1") is None
