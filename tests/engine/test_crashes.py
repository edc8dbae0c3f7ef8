"""A crash at any point loses nothing and invents nothing.

Two thousand random stories, each in a file that is synchronized as always, are cut
short before any statement, COMMIT included. After every crash, and at the end, all
of `truths` must hold. At the time of writing four stories in five crash, twice each
on average; the test logs how many really did (`--log-cli-level=INFO`).

To hear one story again: `tell(Chapter(range(seed, seed + 1), beginning, folder))`.
"""

import logging
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path

import pytest
from tests.engine.story import Chapter, tell
from tests.engine.system import a_system
from tests.stores.things import sqlite_store

log = logging.getLogger(__name__)

STORIES = 2000
CHAPTER = 50  # stories that one process tells in a row
HEALTHY = 0.7  # of the stories have a crash in them, at least


@pytest.fixture
def beginning(tmp_path: Path) -> Path:
    """A store with the fleet in it, with which each story begins."""
    path = tmp_path / "beginning.db"
    store = sqlite_store(path)
    store.open()
    with closing(store):
        a_system(store)
    return path


def test_a_crash_between_any_two_statements_loses_and_invents_nothing(
    beginning: Path,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    chapters = [
        Chapter(
            seeds=range(first, first + CHAPTER), beginning=beginning, folder=tmp_path
        )
        for first in range(0, STORIES, CHAPTER)
    ]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        stories = [crashes for told in pool.map(tell, chapters) for crashes in told]
    crashed = sum(1 for crashes in stories if crashes)
    kinds = Counter(statement for crashes in stories for statement in crashes)
    record_property("crashes", kinds.total())
    log.info("%d crashes in %d stories: %s", kinds.total(), crashed, dict(kinds))
    assert len(stories) == STORIES
    assert crashed >= HEALTHY * STORIES, f"only {crashed} stories crashed"
    for statement in ("BEGIN", "SELECT", "INSERT", "UPDATE", "DELETE", "COMMIT"):
        assert kinds[statement] >= 20, f"{statement}: {kinds[statement]} crashes"
