"""What every test of a store needs; a way to open one is each module's own."""

import pytest
from tests.stores.things import OpenStore

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
