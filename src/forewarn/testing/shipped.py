"""Bundled scenarios, found by name."""

from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from forewarn.agent.complaints import meant
from forewarn.errors import NotFound
from forewarn.testing.reading import read
from forewarn.testing.scenario import Scenario

_SUFFIX = ".toml"


def names() -> Sequence[str]:
    """Return the names of all bundled scenarios, sorted."""
    return sorted(path.stem for path in _folder().glob(f"*{_SUFFIX}"))


def find(given: str) -> Path:
    """Return the path `given`, or the file of the bundled scenario of that name.

    An existing file, or text that looks like a path, never counts as a name.
    """
    path = Path(given)
    if path.is_file() or "/" in given or given.endswith(_SUFFIX):
        return path
    return shipped(given)


def shipped(name: str) -> Path:
    """Return the file of the bundled scenario `name`."""
    if name in names():
        return _folder() / f"{name}{_SUFFIX}"
    near = meant(name, names()) or "; `forewarn rehearse --list` names those there are"
    raise NotFound(f"there is no scenario {name}{near}")


def load(given: str) -> Scenario:
    """Read the scenario at the path `given`, or the bundled one of that name."""
    return read(find(given))


def _folder() -> Path:
    return Path(str(resources.files("forewarn") / "scenarios"))
