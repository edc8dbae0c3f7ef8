"""One browser for all tests of a process; whatever goes wrong in it fails a test."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from tests.browser.chromium import MISSING, Chromium, a_chromium, executable
from tests.browser.visitor import Rooms, Visitor, a_visitor
from tests.server.support.service import RunningService, a_service

#: Starts a service with these flags; it is stopped when the test is over.
Serve = Callable[..., RunningService]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    """Start it once: that takes longer than a test may."""
    found = executable()
    if found is None:
        pytest.skip(MISSING)
    with a_chromium(found) as made:
        yield made


@pytest.fixture(scope="module")
def rooms(chromium: Chromium) -> Iterator[Rooms]:
    """Lend it to one file of tests; the next one may run loops of its own."""
    with chromium.in_use() as browser:
        made = Rooms(browser)
        yield made
        made.close()


@pytest.fixture
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    """Start services of the test's own."""
    with ExitStack() as running:
        yield lambda **flags: running.enter_context(
            a_service(tmp_path_factory.mktemp("service"), **flags)
        )


@pytest.fixture
def service(serve: Serve) -> RunningService:
    """A service of the test's own."""
    return serve()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A service for tests that leave it as it is, or do not get in their way."""
    with a_service(tmp_path_factory.mktemp("shared")) as made:
        yield made


@pytest.fixture
def visitor(rooms: Rooms, serve: Serve) -> Iterator[Visitor]:
    """A person; the test fails if a page of his does anything wrong.

    He leaves before services stop, which is why they are asked for.
    """
    with a_visitor(rooms) as made:
        yield made
    assert not made.watch.complaints, "\n".join(made.watch.complaints)
