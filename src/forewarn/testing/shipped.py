"""The scenarios that come with forewarn, found by their names."""

from collections.abc import Sequence
from importlib import resources
from pathlib import Path

from forewarn.agent.complaints import meant
from forewarn.errors import NotFound
from forewarn.testing.reading import read
from forewarn.testing.scenario import Scenario

_SUFFIX = ".toml"


def names() -> Sequence[str]:
    """Name all of them, in order."""
    return sorted(path.stem for path in _folder().glob(f"*{_SUFFIX}"))


def find(given: str) -> Path:
    """Find the file that is `given`: a path, or else the name of a shipped one.

    What exists as a file, or looks like the path of one, is never taken for a name.
    """
    path = Path(given)
    if path.is_file() or "/" in given or given.endswith(_SUFFIX):
        return path
    return shipped(given)


def shipped(name: str) -> Path:
    """Find the file of the shipped scenario `name`."""
    if name in names():
        return _folder() / f"{name}{_SUFFIX}"
    near = meant(name, names()) or "; `forewarn rehearse --list` names those there are"
    raise NotFound(f"there is no scenario {name}{near}")


def load(given: str) -> Scenario:
    """Read the scenario that is `given`: a path, or the name of a shipped one."""
    return read(find(given))


def _folder() -> Path:
    return Path(str(resources.files("forewarn") / "scenarios"))
