"""Fixtures shared by all command-line tests."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.support.command_line import Cli
from tests.cli.support.service import Service, a_service


@pytest.fixture(autouse=True)
def _clean_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Keep the developer's own environment variables out of the tests."""
    for name in [*os.environ]:
        if name.startswith("FOREWARN_"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("FOREWARN_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("COLUMNS", "80")


@pytest.fixture
def service(monkeypatch: pytest.MonkeyPatch) -> Iterator[Service]:
    """Start a service, found by commands through environment variables."""
    with a_service() as service:
        monkeypatch.setenv("FOREWARN_URL", service.url)
        monkeypatch.setenv("FOREWARN_TOKEN", "secret")
        yield service


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Cli:
    return Cli(capsys)
