"""The scenario with marks in docs/how-to/write-a-scenario.md."""

import re

import pytest
from tests.testing.clients import approves_unprepared, command_of, drains, good
from tests.testing.support.inner_pytest import ROOT, rehearse, shortened

from forewarn.testing.scenario.model import Scenario
from forewarn.testing.scenario.parser import parse_scenario

PAGE = ROOT / "docs" / "how-to" / "write-a-scenario.md"


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    """Parse the first scenario on the page."""
    (first, _) = re.findall(r"^```toml\n(.*?)^```", PAGE.read_text(), re.M | re.S)
    return parse_scenario(first, PAGE)


def test_a_handler_that_drains_before_it_approves_passes(scenario: Scenario) -> None:
    played = rehearse(scenario, command_of(drains))
    assert [result.reason for result in played.failed] == []
    assert played.has_passed


def test_a_handler_that_drains_after_it_approves_fails(scenario: Scenario) -> None:
    handler = command_of(approves_unprepared)
    played = rehearse(shortened(scenario), handler)
    (failed,) = played.failed
    assert "planned is approved" in failed.what
    assert "mark 'drained'" in (failed.reason or "")


def test_a_handler_that_posts_no_mark_fails(scenario: Scenario) -> None:
    played = rehearse(shortened(scenario), command_of(good))
    assert [result.reason for result in played.failed] == [
        "planned was approved, but mark 'drained' was not made (marks so far: none)"
    ]
