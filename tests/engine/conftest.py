"""Fixtures: stores and a service, closed at the end of a test."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from tests.engine.support.system import OpenStore, System, a_system
from tests.stores.builders import sqlite_store

from forewarn.ports import Store
from forewarn.stores.sqlite import MEMORY


@pytest.fixture
def open_store() -> Iterator[OpenStore]:
    with ExitStack() as opened:

        def open_one(path: object = MEMORY) -> Store:
            store = sqlite_store(path)
            store.open()
            opened.callback(store.close)
            return store

        yield open_one


@pytest.fixture
def system(open_store: OpenStore) -> System:
    return a_system(open_store())
