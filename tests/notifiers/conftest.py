"""What tests of notifiers need: somebody who is told."""

from collections.abc import Iterator

import pytest
from tests.notifiers.receiver import Receiver, a_receiver


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with a_receiver() as made:
        yield made
