"""Bundled scenarios: each one passes with the agent and with a plain handler."""

import sys
from pathlib import Path

import pytest
from tests.testing.clients import command_of, good
from tests.testing.support.inner_pytest import rehearse

from forewarn.testing.scenario import parser

PLAN = """\
state = "state"

[hooks.drain]
command = ["true"]

[[rules]]
name = "all"
prepare = ["drain"]
approve = "after-hooks"
"""


@pytest.mark.parametrize("name", parser.bundled_names())
def test_the_agent_passes(name: str, tmp_path: Path) -> None:
    file = tmp_path / "agent.toml"
    file.write_text(PLAN)
    agent = [sys.executable, "-m", "forewarn", "agent", "--config", str(file)]
    played = rehearse(parser.load_scenario(name), agent)
    assert [result.reason for result in played.failed] == []
    assert played.has_passed


@pytest.mark.full
@pytest.mark.parametrize("name", parser.bundled_names())
def test_a_plain_handler_that_polls_passes(name: str) -> None:
    played = rehearse(parser.load_scenario(name), command_of(good))
    assert [result.reason for result in played.failed] == []
    assert played.has_passed


@pytest.mark.full
@pytest.mark.parametrize(
    "name", ["concurrent-events", "scale-in", "incarnation-restart"]
)
def test_a_rehearsal_is_reproducible(name: str) -> None:
    first, second = (
        rehearse(parser.load_scenario(name), command_of(good)) for _ in range(2)
    )
    assert first.transcript == second.transcript
