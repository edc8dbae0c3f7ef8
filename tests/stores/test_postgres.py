"""PostgreSQL store: the contract of a store."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from tests.postgres import PostgresServer
from tests.stores.builders import OpenStore, a_seen, postgres_store, put
from tests.stores.contract import JournalContract, StateContract, TimeContract
from tests.stores.contract_of_observations import (
    NotesContract,
    RollbackContract,
    SettingsContract,
)
from tests.stores.contract_of_pages import PagesContract
from tests.stores.contract_of_searches import SearchesContract
from tests.stores.contract_of_tokens import TokensContract
from tests.stores.contract_of_writers import ReadersContract, WritersContract

from forewarn.ports import Store


@pytest.fixture
def open_store(postgres: PostgresServer) -> Iterator[OpenStore]:
    with ExitStack() as opened:

        def open_one() -> Store:
            store = postgres_store(postgres.url(schema=postgres.new_schema()))
            opened.callback(store.close)
            store.open()
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


def test_names_are_not_ordered_by_the_locale_of_the_database(
    open_store: OpenStore, postgres: PostgresServer
) -> None:
    open_store()
    assert postgres.run(
        "SELECT DISTINCT collation_name FROM information_schema.columns WHERE"
        " table_name = 'vms' AND data_type = 'character varying'"
    ) == ["C"]
