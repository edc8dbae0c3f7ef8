"""Fixtures for store tests: every kind of store."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pytest
from tests.stores.builders import OpenStore, opened, postgres_store, sqlite_store

from forewarn.ports import Store
from forewarn.stores.sqlite import MEMORY
from forewarn.stores.store import SqlStore

#: Returns a store at a place of its own, not yet open; another call, the same place.
MakeStore = Callable[[], SqlStore]


def a_new_place(kind: str, file: Path, request: pytest.FixtureRequest) -> MakeStore:
    if kind == "postgresql":
        server = request.getfixturevalue("postgres")
        url = server.url(schema=server.new_schema())
        return lambda: postgres_store(url)
    return lambda: sqlite_store(MEMORY if kind == "memory" else file)


@pytest.fixture(params=["file", "memory", "postgresql"])
def open_store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[OpenStore]:
    numbers = count(1)
    with ExitStack() as stores:

        def open_one() -> Store:
            file = tmp_path / f"forewarn-{next(numbers)}.db"
            return stores.enter_context(
                opened(a_new_place(request.param, file, request)())
            )

        yield open_one


@pytest.fixture(params=["file", "postgresql"])
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> MakeStore:
    return a_new_place(request.param, tmp_path / "forewarn.db", request)


@pytest.fixture
def store(open_store: OpenStore) -> Store:
    return open_store()
