"""Fixtures for script drivers, which are closed when the test ends."""

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from tests.drivers.scripts import MakeDriver, write_script
from tests.patience import PATIENCE

from forewarn.drivers.script import ScriptDriver


@pytest.fixture
def run(tmp_path: Path) -> Iterator[MakeDriver]:
    with ExitStack() as stack:

        def make(
            text: str,
            *,
            timeout: float = PATIENCE,
            grace: float = 0.2,
            lock_file: Path | None = None,
            patience: float = PATIENCE,
        ) -> ScriptDriver:
            path = write_script(tmp_path / "script", text)
            driver = ScriptDriver(
                [str(path)],
                timeout=timeout,
                grace=grace,
                lock_file=lock_file,
                patience=patience,
            )
            stack.callback(driver.close)
            return driver

        yield make


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    """Make a pipe to which a script writes its process id once it runs."""
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path
