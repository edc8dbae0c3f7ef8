"""Fixtures: an agent driven turn by turn, a pipe from its hooks, its file."""

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.agent.support.agent_loop import AgentEnvironment, Staging
from tests.agent.support.hook_builders import ReadyPipe


@pytest.fixture
def agent_factory(tmp_path: Path) -> Iterator[Staging]:
    """Return a factory of agents; making the next one kills the previous."""
    stages: list[AgentEnvironment] = []

    def make(**given: object) -> AgentEnvironment:
        for former in stages:
            former.close()
        stages.append(AgentEnvironment(**{"folder": tmp_path, **given}))  # type: ignore[arg-type]
        return stages[-1]

    yield make
    for remaining in stages:
        remaining.close()


@pytest.fixture
def ready_pipe(tmp_path: Path) -> Iterator[ReadyPipe]:
    ready_pipe = ReadyPipe(tmp_path)
    yield ready_pipe
    ready_pipe.close()


@pytest.fixture
def no_threads() -> Iterator[None]:
    """Make threads request more memory than there is."""
    before = threading.stack_size(2**46)
    yield
    threading.stack_size(before)


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "agent.toml"
