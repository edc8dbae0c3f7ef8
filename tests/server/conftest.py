"""Services under test: one per test that changes state, a shared one for the rest."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from tests.server.support.service import RunningService, a_service

#: Starts a service with the given flags and stops it after the test.
Serve = Callable[..., RunningService]


@pytest.fixture(scope="session")
def closer() -> Iterator[Callable[[ExitStack], None]]:
    """Close resources while the next test runs, because stopping a service is slow."""
    closed: list[Future[None]] = []
    with ThreadPoolExecutor() as pool:
        yield lambda stack: closed.append(pool.submit(stack.close))
    for future in closed:
        future.result()


@pytest.fixture
def serve(
    closer: Callable[[ExitStack], None], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Serve]:
    """Start services that only this test uses."""
    running = ExitStack()

    def start(**flags: object) -> RunningService:
        folder = tmp_path_factory.mktemp("service")
        return running.enter_context(a_service(folder, **flags))

    yield start
    closer(running)


@pytest.fixture
def service(serve: Serve) -> RunningService:
    """Start a service that only this test uses."""
    return serve()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """Start a service for tests that do not change its state."""
    with a_service(tmp_path_factory.mktemp("shared")) as running:
        yield running
