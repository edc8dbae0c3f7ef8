"""Which programs are here; a test that needs another is skipped, and says so."""

import os
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.end_to_end.program import Ended, finish

#: Where scripts/test puts what it does not install for the whole machine.
PROGRAMS = Path(sys.prefix) / "programs"
NODE_MODULES = PROGRAMS / "node" / "node_modules"


def needs(*commands: str) -> pytest.MarkDecorator:
    """Skip a test unless all `commands` are here."""
    missing = [name for name in commands if shutil.which(name) is None]
    return pytest.mark.skipif(bool(missing), reason=f"needs {', '.join(missing)}")


def unpacked(package: str, path: str) -> Path:
    """Find `path` of an unpacked Debian package, or skip."""
    found = PROGRAMS / package / path
    if not found.exists():
        pytest.skip(f"needs the Debian package {package}; scripts/test unpacks it")
    return found


def node_module(name: str) -> str:
    """Name an npm package that is here, or skip."""
    if not (NODE_MODULES / name).exists():
        pytest.skip(f"needs the npm package {name}; scripts/test installs it")
    return name


def run_program(
    folder: Path,
    *words: str,
    within: Sequence[str] = (),
    typed: str = "",
    **environment: str,
) -> Ended:
    """Run a program to its end, with nothing of ours in its environment."""
    given = {"PATH": os.environ["PATH"], "HOME": str(folder), **environment}
    return finish([*within, *words], folder, given, typed=typed)
