"""Fixtures for store tests; each module defines how it opens a store."""

import pytest
from tests.stores.builders import OpenStore

from forewarn.ports import Store

pytest.register_assert_rewrite(
    "tests.stores.contract",
    "tests.stores.contract_of_notes",
    "tests.stores.contract_of_outages",
    "tests.stores.contract_of_pages",
    "tests.stores.contract_of_searches",
    "tests.stores.contract_of_tokens",
    "tests.stores.contract_of_writers",
)


@pytest.fixture
def store(open_store: OpenStore) -> Store:
    return open_store()
