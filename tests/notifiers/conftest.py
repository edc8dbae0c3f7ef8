"""Fixture with a receiver of webhooks."""

from collections.abc import Iterator

import pytest
from tests.notifiers.receiver import Receiver, a_receiver


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with a_receiver() as server:
        yield server
