"""Crash test: a crash at any point loses nothing and invents nothing.

Random stories, 2,000 in the full lane, each in a file with normal synchronization, are
cut short before any statement, including COMMIT. After every crash and at the end, all
of `truths` must hold. When this was written, four stories in five crashed, twice each
on average. The test logs the actual number (`--log-cli-level=INFO`).

To run one story again: `tell(Chapter(range(seed, seed + 1), beginning, folder))`.
"""

import logging
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path

import pytest
from tests.engine.support.random_history import HistoryBatch, run_histories
from tests.engine.support.system import a_system
from tests.lanes import SEED, size
from tests.stores.builders import sqlite_store

pytestmark = pytest.mark.slow

log = logging.getLogger(__name__)

STORIES = size(300, 2000)
CHAPTER = 50  # stories that one process runs in a row
HEALTHY = 0.7  # minimum share of stories with a crash


@pytest.fixture
def initial_store(tmp_path: Path) -> Path:
    """Return a store that contains the fleet, with which each story starts."""
    path = tmp_path / "beginning.db"
    store = sqlite_store(path)
    store.open()
    with closing(store):
        a_system(store)
    return path


@pytest.mark.timeout(600)
def test_a_crash_between_any_two_statements_loses_and_invents_nothing(
    initial_store: Path,
    tmp_path: Path,
    record_property: Callable[[str, object], None],
) -> None:
    chapters = [
        HistoryBatch(
            seeds=range(first, first + CHAPTER),
            initial_store=initial_store,
            folder=tmp_path,
        )
        for first in range(SEED, SEED + STORIES, CHAPTER)
    ]
    with ProcessPoolExecutor(mp_context=get_context("spawn")) as pool:
        stories = [
            crashes
            for chapter_crashes in pool.map(run_histories, chapters)
            for crashes in chapter_crashes
        ]
    crashed = sum(1 for crashes in stories if crashes)
    kinds = Counter(statement for crashes in stories for statement in crashes)
    record_property("crashes", kinds.total())
    log.info("%d crashes in %d stories: %s", kinds.total(), crashed, dict(kinds))
    assert len(stories) == STORIES
    assert crashed >= HEALTHY * STORIES, f"only {crashed} stories crashed"
    for statement in ("BEGIN", "SELECT", "INSERT", "UPDATE", "DELETE", "COMMIT"):
        count = kinds[statement]
        assert count >= STORIES / 100, f"{statement}: {count} crashes"
