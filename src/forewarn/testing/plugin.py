"""The pytest plugin: the fixture `scheduled_events`."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from forewarn.testing.rehearsal import Rehearsal


@pytest.fixture
def scheduled_events(monkeypatch: pytest.MonkeyPatch) -> "Iterator[Rehearsal]":
    """Give the test a service of its own, with a clock that the test moves."""
    from forewarn.testing.rehearsal import Rehearsal

    with Rehearsal() as rehearsal:
        for name, value in rehearsal.environment.items():
            monkeypatch.setenv(name, value)
        yield rehearsal
