"""Installed programs; tests that need a missing one are skipped with a reason."""

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.end_to_end.program import FinishedCommand, finish

#: Where scripts/test installs programs that are not needed system-wide.
PROGRAMS = Path(sys.prefix) / "programs"
NODE_MODULES = PROGRAMS / "node" / "node_modules"


def needs(*commands: str) -> pytest.MarkDecorator:
    """Skip a test unless all `commands` are installed."""
    missing = [name for name in commands if shutil.which(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"needs {', '.join(missing)}")


def package_file(package: str, path: str) -> Path:
    """Return `path` of an unpacked Debian package, or skip the test."""
    file = PROGRAMS / package / path
    if not file.exists():
        pytest.skip(f"needs the Debian package {package}; scripts/test unpacks it")
    return file


def node_module(name: str) -> str:
    """Return the name of an installed npm package, or skip the test."""
    if not (NODE_MODULES / name).exists():
        pytest.skip(f"needs the npm package {name}; scripts/test installs it")
    return name


def run_program(
    folder: Path,
    *words: str,
    within: Sequence[str] = (),
    typed: str = "",
    **environment: str,
) -> FinishedCommand:
    """Run a program to its end, with a clean environment."""
    variables = {"PATH": os.environ["PATH"], "HOME": str(folder), **environment}
    return finish([*within, *words], folder, variables, typed=typed)
