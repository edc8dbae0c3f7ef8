"""Lint of real programs: bad programs get findings, good ones pass."""

import sys
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.lanes import IS_FULL
from tests.testing import clients

from forewarn.testing.lint.course import LintPace
from forewarn.testing.lint.evidence import CoursePart
from forewarn.testing.lint.findings import RuleOutcome
from forewarn.testing.lint.runner import LintResult, LintTrial, lint

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]

#: For programs that poll every quarter of a second.
FAST = LintPace(
    first_request=30.0,
    first_response=1.0,
    longest_pause=3.0,
    longest_quiet=2.5,
    shortest_quiet=0.5,
    min_patience=3.0,
    max_patience=4.0,
    moment=0.3,
    refusal=0.8,
)

#: The findings for each client, without suggestions, which all of them get.
FOUND: Mapping[Callable[[], None], set[str]] = {
    clients.never_asks: {"error: never-asks"},
    clients.good: set(),
    clients.ignores_case: set(),
    clients.approves_in_vain: {"error: approves-in-vain"},
    clients.approves_everything: {
        "error: approves-others",
        "warning: approves-unprepared",
    },
    clients.approves_the_first_event: {"error: approves-others"},
    clients.uses_its_own_clock: set(),
    clients.waits_for_the_last_seconds: set(),
    clients.sleeps_until_the_last_seconds: {"warning: stops-after-scheduled"},
    clients.drains_in_its_loop: set(),
    clients.drains_in_a_thread: set(),
    clients.ends_with_new_types: {"error: ends-after-other-version"},
    clients.ends_after_reboot: {"warning: ends-after-reboot"},
    clients.ends_after_restart: {"error: ends-after-restart"},
    clients.reads_every_date: {"error: ends-after-started"},
    clients.ends_while_quiet: {"error: ends-while-quiet"},
    clients.ends_when_refused: {
        "error: gives-up-on-errors",
        "warning: approves-unprepared",
    },
    clients.ends_without_a_body: {"error: gives-up-on-errors"},
    clients.ends_without_events: {"error: gives-up-on-errors"},
    clients.hammers: {"error: hammers"},
    clients.no_api_version: {"error: no-api-version"},
    clients.no_header: {"error: no-header"},
    clients.old_api_version: {"warning: old-api-version"},
    clients.stops_after_gone: {"error: stops-after-gone"},
    clients.stops_after_started: {"error: stops-after-started"},
    clients.through_a_proxy: {"error: through-a-proxy"},
}

#: The clients that are linted in every lane; the full lane lints all of them.
USUAL = (
    clients.good,
    clients.ignores_case,
    clients.approves_everything,
    clients.approves_the_first_event,
    clients.uses_its_own_clock,
    clients.waits_for_the_last_seconds,
    clients.sleeps_until_the_last_seconds,
    clients.drains_in_its_loop,
    clients.drains_in_a_thread,
    clients.never_asks,
    clients.no_header,
    clients.hammers,
    clients.ends_when_refused,
    clients.stops_after_started,
)
LINTED = [*FOUND] if IS_FULL else [*USUAL]

AGENT = """\
poll_seconds = 0.25
state = "state"

[hooks.drain]
command = ["sleep", "0.1"]

[[rules]]
name = "all"
prepare = ["drain"]
approve = "after-hooks"
"""


def linted(command: Sequence[str]) -> LintResult:
    return lint(LintTrial(command=command, pace=FAST), lambda part: None)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, LintResult]:
    """Lint all programs in parallel, since they mostly wait."""
    config = tmp_path_factory.mktemp("agent") / "agent.toml"
    config.write_text(AGENT)
    python = ["env", "POLL_SECONDS=0.25", sys.executable]
    commands: dict[str, Sequence[str]] = {
        "agent": [*python, "-m", "forewarn", "agent", "--config", str(config)],
        "watch": [*python, "-m", "forewarn", "watch", "--poll", "0.25"],
        "sample": [*python, str(ROOT / "examples/clients/scheduled_events.py")],
    }
    for client in LINTED:
        commands[client.__name__] = clients.command_of(client)
    with ThreadPoolExecutor(8) as pool:
        return dict(zip(commands, pool.map(linted, commands.values()), strict=True))


@pytest.mark.parametrize("client", LINTED)
def test_client_gets_exactly_its_findings(
    client: Callable[[], None], results: Mapping[str, LintResult]
) -> None:
    findings = results[client.__name__].findings
    labels = {
        f"{label.severity}: {label.rule.id}" for label in findings if label.is_found
    }
    bad = {label for label in labels if not label.startswith("suggestion")}
    assert bad == FOUND[client]


def observation(result: LintResult, rule: str) -> str:
    return next(e.saw for e in result.findings if e.rule.id == rule)


def test_events_are_announced_by_the_clock_of_the_machine(
    results: Mapping[str, LintResult],
) -> None:
    assert observation(results["uses_its_own_clock"], "approves-nothing") == (
        "approved the platform Freeze of vm-0, the platform Reboot of vm-0 and the user"
        " Reboot of vm-0"
    )


def test_program_that_waits_for_not_before_only_gets_suggestions(
    results: Mapping[str, LintResult],
) -> None:
    result = results["waits_for_the_last_seconds"]
    verdicts = {e.rule.id: e.verdict for e in result.findings if e.is_found}
    assert verdicts == {
        "approves-nothing": "suggestion",
        "ignores-retry-after": "suggestion",
    }


def test_neighbor_is_announced_alone_and_first(
    results: Mapping[str, LintResult],
) -> None:
    evidence = results["good"].evidence
    first = next(shown for shown in evidence.shown if shown.events)
    (only,) = [e for e in evidence.announced if e.id in first.events]
    assert evidence.vm not in only.resources


@pytest.mark.parametrize(
    "name", ["approves_everything", "approves_the_first_event", "ignores_case"]
)
def test_course_is_complete_whatever_a_program_approves(
    name: str, results: Mapping[str, LintResult]
) -> None:
    assert results[name].evidence.spans[-1].part is CoursePart.AFTERWARDS


@pytest.mark.parametrize("name", ["agent", "watch", "sample"])
def test_good_program_gets_at_most_suggestions(
    name: str, results: Mapping[str, LintResult]
) -> None:
    of_one = results[name]
    bad = [
        finding
        for finding in of_one.findings
        if finding.verdict in ("error", "warning")
    ]
    assert [(finding.rule.id, finding.saw) for finding in bad] == [], of_one.output
    assert of_one.evidence.spans[-1].part is CoursePart.AFTERWARDS


def test_every_rule_can_be_checked_for_the_agent(
    results: Mapping[str, LintResult],
) -> None:
    outcomes = {
        finding.rule.id: finding.outcome for finding in results["agent"].findings
    }
    assert outcomes["approves-others"] is RuleOutcome.PASSED
    assert outcomes["approves-unprepared"] is RuleOutcome.PASSED
    assert RuleOutcome.UNSEEN not in outcomes.values()
