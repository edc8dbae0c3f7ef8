"""Fixtures for store tests: every kind of store."""

from collections.abc import Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pytest
from tests.stores.builders import OpenStore, postgres_store, sqlite_store

from forewarn.ports import Store
from forewarn.stores.sqlite import MEMORY


@pytest.fixture(params=["file", "memory", "postgresql"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenStore]:
    numbers = count(1)
    with ExitStack() as opened:

        def open_one() -> Store:
            if request.param == "postgresql":
                server = request.getfixturevalue("postgres")
                store = postgres_store(server.url(schema=server.new_schema()))
            else:
                file = tmp_path / f"forewarn-{next(numbers)}.db"
                store = sqlite_store(MEMORY if request.param == "memory" else file)
            opened.callback(store.close)
            store.open()
            return store

        yield open_one


@pytest.fixture
def store(open_store: OpenStore) -> Store:
    return open_store()
