"""Fixtures for browser tests: one browser per process, whose page errors fail tests."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from tests.browser.busy_service import a_busy_service
from tests.browser.chromium import MISSING, Chromium, a_chromium, executable
from tests.browser.portal_user import PortalUser, ProfilePool, a_user
from tests.server.support.service import RunningService, a_service

#: Starts a service with the given flags; it ends with the test.
Serve = Callable[..., RunningService]


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    """Start the browser once: this takes longer than a test is allowed to take."""
    path = executable()
    if path is None:
        pytest.skip(MISSING)
    with a_chromium(path) as running:
        yield running


@pytest.fixture(scope="module")
def profiles(chromium: Chromium) -> Iterator[ProfilePool]:
    """Lend the browser to one test file; the next file may run its own event loops."""
    with chromium.in_use() as browser:
        pool = ProfilePool(browser)
        yield pool
        pool.close()


@pytest.fixture
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    """Start services for one test; `fleet` is the text of a fleet file."""
    with ExitStack() as running:

        def start(fleet: str | None = None, **flags: object) -> RunningService:
            folder = tmp_path_factory.mktemp("service")
            if fleet is not None:
                (folder / "given.toml").write_text(fleet)
                flags["fleet"] = str(folder / "given.toml")
            return running.enter_context(a_service(folder, **flags))

        yield start


@pytest.fixture
def service(serve: Serve) -> RunningService:
    """Start a service for one test."""
    return serve()


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """Start a service for tests that do not change it or do not affect each other."""
    with a_service(tmp_path_factory.mktemp("shared")) as running:
        yield running


@pytest.fixture(scope="module")
def lively(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningService]:
    """Start a busy service for tests that do not change it."""
    with a_busy_service(tmp_path_factory.mktemp("lively")) as running:
        yield running


@pytest.fixture
def user(profiles: ProfilePool, serve: Serve) -> Iterator[PortalUser]:
    """Yield a user; the test fails if one of its pages reports an error.

    `serve` is a parameter so that the user leaves before services stop.
    """
    with a_user(profiles) as person:
        yield person
    assert not person.watch.complaints, "\n".join(person.watch.complaints)
