"""SQLite store: a process that dies without warning."""

import signal
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from tests.stores.builders import a_seen, put, sqlite_store

#: Prints each position after its commit, until it is killed.
WRITES_FOR_EVER = """
import sys
from tests.stores.builders import a_seen, put, sqlite_store
store = sqlite_store(sys.argv[1])
store.open()
number = 0
while True:
    number += 1
    print(put(store, a_seen(number)), flush=True)
"""

#: Dies in the middle of its third transaction.
DIES_IN_A_TRANSACTION = """
import os, sys
from forewarn.core.lifecycle.settlement import Step
from forewarn.core.lifecycle.model import Slice
from tests.stores.builders import a_seen, put, sqlite_store
store = sqlite_store(sys.argv[1])
store.open()
print(put(store, a_seen(1)), put(store, a_seen(2)), flush=True)
with store.transaction() as transaction:
    transaction.save(Slice(), Step(Slice(), (a_seen(3),)), {})
    os._exit(9)
"""

ROOT = Path(__file__).parents[2]


def a_child(script: str, path: Path) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        [sys.executable, "-c", script, str(path)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )


def facts_of(path: Path) -> list[tuple[int, object]]:
    store = sqlite_store(path)
    store.open()
    with closing(store):
        return [(entry.position, entry.fact) for entry in store.facts(0, 1_000_000)]


@pytest.mark.parametrize("commits", [1, 7, 40])
def test_killed_process_loses_nothing_it_committed(
    tmp_path: Path, commits: int
) -> None:
    path = tmp_path / "forewarn.db"
    with a_child(WRITES_FOR_EVER, path) as child:
        assert child.stdout is not None
        printed = [int(child.stdout.readline()) for _ in range(commits)]
        child.kill()
        printed += [int(line) for line in child.stdout if line.endswith("\n")]
    assert child.returncode == -signal.SIGKILL
    kept = facts_of(path)
    assert printed == [*range(1, len(printed) + 1)]
    assert kept[: len(printed)] == [(number, a_seen(number)) for number in printed]
    assert len(kept) - len(printed) in (0, 1)  # committed, but killed before printing


def test_killed_process_leaves_nothing_of_its_transaction(
    tmp_path: Path,
) -> None:
    path = tmp_path / "forewarn.db"
    with a_child(DIES_IN_A_TRANSACTION, path) as child:
        output, _ = child.communicate()
    assert (child.returncode, output) == (9, "1 2\n")
    assert facts_of(path) == [(1, a_seen(1)), (2, a_seen(2))]


def test_file_whose_process_died_can_be_written_immediately(tmp_path: Path) -> None:
    path = tmp_path / "forewarn.db"
    with a_child(DIES_IN_A_TRANSACTION, path) as child:
        child.communicate()
    store = sqlite_store(path)
    store.open()
    with closing(store):
        assert put(store, a_seen(3)) == 3
