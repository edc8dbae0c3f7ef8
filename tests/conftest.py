"""Settings and session fixtures shared by all tests."""

import os
import signal
from collections.abc import Iterator

import pytest
from tests.postgres import PostgresServer, a_server
from tests.postgres_binaries import MISSING, binaries

pytest_plugins = ["pytester", "tests.lanes"]

# A caller may ignore these, as `nohup` and `&` in a script do. Programs under test
# would inherit that, and a test that interrupts one of them would hang.
signal.signal(signal.SIGHUP, signal.SIG_DFL)
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGQUIT, signal.SIG_DFL)


# The agent refuses files that a group can write, which another umask would produce.
os.umask(0o022)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    installed = binaries()
    version = (
        MISSING if installed is None else f"{installed.version} of {installed.folder}"
    )
    terminalreporter.write_line(f"PostgreSQL: {version}")


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """Start a PostgreSQL server with fsync off: fast, but not durable."""
    yield from _a_server("fsync=off")


@pytest.fixture(scope="session")
def durable_postgres() -> Iterator[PostgresServer]:
    """Start a PostgreSQL server that is as durable as in production."""
    yield from _a_server()


def _a_server(*options: str) -> Iterator[PostgresServer]:
    installed = binaries()
    if installed is None:
        pytest.skip(MISSING)
    with a_server(installed, *options) as server:
        yield server
