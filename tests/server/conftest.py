"""Services to ask: one for each test that changes something, one for the others."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from tests.server.support.arm_client import a_fleet
from tests.server.support.service import RunningService, a_service

#: Starts a service with these flags; it is stopped when the test is over.
Serve = Callable[..., RunningService]


@pytest.fixture(scope="session")
def behind() -> Iterator[Callable[[ExitStack], None]]:
    """Close things while the next test runs: an orderly stop takes its time."""
    closed: list[Future[None]] = []
    with ThreadPoolExecutor() as pool:
        yield lambda stack: closed.append(pool.submit(stack.close))
    for each in closed:
        each.result()


@pytest.fixture
def serve(
    behind: Callable[[ExitStack], None], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Serve]:
    """Start services of the test's own."""
    running = ExitStack()

    def start(**flags: object) -> RunningService:
        folder = tmp_path_factory.mktemp("service")
        return running.enter_context(a_service(folder, **flags))

    yield start
    behind(running)


@pytest.fixture
def service(serve: Serve) -> RunningService:
    """A service of the test's own."""
    return serve()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A service for tests that leave it as it is."""
    with a_service(tmp_path_factory.mktemp("shared")) as made:
        yield made


@pytest.fixture(scope="module")
def kept(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """A service with the fleet of `tests.server.arm`, for tests that share it."""
    folder = tmp_path_factory.mktemp("kept")
    with a_service(folder, fleet=a_fleet(folder)) as service:
        yield service
