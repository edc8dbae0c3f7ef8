"""Worlds to tell stories in."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack

import pytest
from tests.stories.world import World, a_world

#: Makes a world with these flags; it ends with the test.
Make = Callable[..., World]


@pytest.fixture(scope="session")
def behind() -> Iterator[Callable[[ExitStack], None]]:
    """End worlds while the next test runs: an orderly stop takes its time."""
    ended: list[Future[None]] = []
    with ThreadPoolExecutor() as pool:
        yield lambda stack: ended.append(pool.submit(stack.close))
    for each in ended:
        each.result()


@pytest.fixture
def make(
    behind: Callable[[ExitStack], None], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Make]:
    """Make worlds of the test's own."""
    running = ExitStack()
    yield lambda **flags: running.enter_context(
        a_world(tmp_path_factory.mktemp("world"), **flags)
    )
    behind(running)


@pytest.fixture
def world(make: Make) -> World:
    """A world at noon where work is done as soon as it starts."""
    return make()


@pytest.fixture
def worked(make: Make) -> World:
    """A world at noon where people do the work, and say so."""
    return make(driver="operator")


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """A world for tests that leave it as it is."""
    with a_world(tmp_path_factory.mktemp("shared")) as made:
        yield made
