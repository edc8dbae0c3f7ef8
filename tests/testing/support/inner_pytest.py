"""Playing scenarios to the handlers of these tests."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from forewarn.cli.rehearse.terminal import ProgressScreen
from forewarn.testing.scenario.model import ExpectStep, Scenario, Step
from forewarn.testing.scenario.player import ScenarioRun, play
from forewarn.testing.scenario.results import ScenarioResult

ROOT = Path(__file__).parents[3]

_SHORT = 6.0  # seconds, for handlers that poll ten times a second


def rehearse(scenario: Scenario, command: Sequence[str]) -> ScenarioResult:
    """Play `scenario` to `command`."""
    run = ScenarioRun(command=command, seed=1, timeout=100)
    return play(scenario, run, ProgressScreen())


def shortened(scenario: Scenario) -> Scenario:
    """Shorten all waits to what such a handler needs."""
    return replace(scenario, steps=tuple(map(_shortened, scenario.steps)))


def _shortened(step: Step) -> Step:
    if isinstance(step, ExpectStep):
        return replace(step, seconds=min(step.seconds, _SHORT))
    return step
