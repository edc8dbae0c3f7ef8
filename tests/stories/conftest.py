"""Fixtures for stories: running services whose clock stands at noon."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from tests.stories.support.harness import ServiceHarness, a_harness

#: Starts a service with the given flags; it ends with the test.
Make = Callable[..., ServiceHarness]


@pytest.fixture(scope="session")
def closer() -> Iterator[Callable[[ExitStack], None]]:
    """Stop services while the next test runs, because an orderly stop takes time."""
    ended: list[Future[None]] = []
    with ThreadPoolExecutor() as pool:
        yield lambda stack: ended.append(pool.submit(stack.close))
    for future in ended:
        future.result()


@pytest.fixture
def make(
    closer: Callable[[ExitStack], None], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Make]:
    """Start services for one test."""
    running = ExitStack()
    yield lambda **flags: running.enter_context(
        a_harness(tmp_path_factory.mktemp("harness"), **flags)
    )
    closer(running)


@pytest.fixture
def harness(make: Make) -> ServiceHarness:
    """Start a service at noon where work is done as soon as it starts."""
    return make()


@pytest.fixture
def operator_harness(make: Make) -> ServiceHarness:
    """Start a service at noon where an operator does the work and reports it."""
    return make(driver="operator")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServiceHarness]:
    """Start a service for tests that do not change it."""
    with a_harness(tmp_path_factory.mktemp("shared")) as running:
        yield running
