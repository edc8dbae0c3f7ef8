"""SQLite store: the contract of a store, in a file and in memory."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.stores.builders import OpenStore, a_seen, put, sqlite_store
from tests.stores.contract import JournalContract, StateContract, TimeContract
from tests.stores.contract_of_observations import (
    NotesContract,
    RollbackContract,
    SettingsContract,
)
from tests.stores.contract_of_outages import OutagesContract
from tests.stores.contract_of_pages import PagesContract
from tests.stores.contract_of_searches import SearchesContract
from tests.stores.contract_of_tokens import TokensContract
from tests.stores.contract_of_writers import ReadersContract, WritersContract

from forewarn.ports import Store
from forewarn.stores.sqlite import MEMORY

#: The location of the n-th store of a test.
WAYS: dict[str, Callable[[Path, int], str]] = {
    "file": lambda folder, number: str(folder / f"forewarn-{number}.db"),
    "memory": lambda folder, number: MEMORY,
}


@pytest.fixture(params=WAYS)
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenStore]:
    place = WAYS[request.param]
    with ExitStack() as opened:
        number = 0

        def open_one() -> Store:
            nonlocal number
            number += 1
            store = sqlite_store(place(tmp_path, number))
            store.open()
            opened.callback(store.close)
            return store

        yield open_one


class TestJournal(JournalContract):
    pass


class TestState(StateContract):
    pass


class TestTime(TimeContract):
    pass


class TestTokens(TokensContract):
    pass


class TestPages(PagesContract):
    pass


class TestSearches(SearchesContract):
    pass


class TestNotes(NotesContract):
    pass


class TestSettings(SettingsContract):
    pass


class TestOutages(OutagesContract):
    pass


class TestRollback(RollbackContract):
    pass


class TestWriters(WritersContract):
    pass


class TestReaders(ReadersContract):
    pass


def test_two_stores_are_independent(open_store: OpenStore) -> None:
    first, second = open_store(), open_store()
    put(first, a_seen(1))
    assert second.facts(0, 10) == []
