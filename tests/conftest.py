"""Settings for all tests, and what is started at most once for them."""

import signal
from collections.abc import Iterator

import pytest
from tests.postgres import Server, a_server
from tests.postgres_binaries import MISSING, binaries

pytest_plugins = ["pytester", "tests.lanes"]

# A caller may ignore these, as `nohup` and `&` in a script do. Programs under test
# would inherit that, and a test that interrupts one of them would hang.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    found = binaries()
    version = MISSING if found is None else f"{found.version} of {found.folder}"
    terminalreporter.write_line(f"PostgreSQL: {version}")


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    """A server that forgets all when the machine fails, and is fast for that."""
    yield from _a_server("fsync=off")


@pytest.fixture(scope="session")
def durable_postgres() -> Iterator[Server]:
    """A server as it is in production."""
    yield from _a_server()


def _a_server(*options: str) -> Iterator[Server]:
    found = binaries()
    if found is None:
        pytest.skip(MISSING)
    with a_server(found, *options) as server:
        yield server
