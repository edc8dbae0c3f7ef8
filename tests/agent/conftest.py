"""An agent turn by turn, a word from its hooks, and where its file may be."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.agent.hook_builders import Word
from tests.agent.loop import Stage, Staging


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Staging]:
    """Make an agent; the former one has died when the next is made."""
    stages: list[Stage] = []

    def make(**given: object) -> Stage:
        for former in stages:
            former.close()
        stages.append(Stage(folder=tmp_path, **given))  # type: ignore[arg-type]
        return stages[-1]

    yield make
    for each in stages:
        each.close()


@pytest.fixture
def word(tmp_path: Path) -> Iterator[Word]:
    word = Word(tmp_path)
    yield word
    word.close()


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "agent.toml"
