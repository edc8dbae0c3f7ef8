"""Real programs are linted: bad ones are found out, good ones are left in peace."""

import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from forewarn.testing.course import Pace
from forewarn.testing.evidence import Part
from forewarn.testing.findings import Outcome
from forewarn.testing.linting import Linted, Trial, lint

ROOT = Path(__file__).parents[2]
CLIENTS = Path(__file__).parent / "bad_clients"

#: For programs that ask every quarter of a second.
FAST = Pace(
    first_request=8.0,
    first_answer=1.0,
    longest_pause=3.0,
    longest_quiet=2.5,
    shortest_quiet=0.5,
    least_patience=3.0,
    most_patience=4.0,
    moment=0.3,
    refusal=0.8,
)

#: What is said of each, but for what all of them are advised.
FOUND: Mapping[str, set[str]] = {
    "never_asks": {"error: never-asks"},
    "good": set(),
    "approves_in_vain": {"error: approves-in-vain"},
    "approves_others": {"error: approves-others", "warning: approves-unprepared"},
    "ends_after_other_version": {"error: ends-after-other-version"},
    "ends_after_reboot": {"warning: ends-after-reboot"},
    "ends_after_restart": {"error: ends-after-restart"},
    "ends_after_started": {"error: ends-after-started"},
    "ends_while_quiet": {"error: ends-while-quiet"},
    "gives_up_on_errors": {"error: gives-up-on-errors"},
    "gives_up_on_no_body": {"error: gives-up-on-errors"},
    "hammers": {"error: hammers"},
    "no_api_version": {"error: no-api-version"},
    "no_header": {"error: no-header"},
    "old_api_version": {"warning: old-api-version"},
    "stops_after_gone": {"error: stops-after-gone"},
    "stops_after_started": {"error: stops-after-started"},
    "through_a_proxy": {"error: through-a-proxy"},
}

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


class Unheard:
    def begin(self, part: Part) -> None:
        pass


def linted(command: Sequence[str]) -> Linted:
    return lint(Trial(command=command, pace=FAST), Unheard())


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Linted]:
    """Lint all of them at once: they wait most of the time."""
    config = tmp_path_factory.mktemp("agent") / "agent.toml"
    config.write_text(AGENT)
    python = ["env", f"PYTHONPATH={ROOT}", "POLL_SECONDS=0.25", sys.executable]
    commands: dict[str, Sequence[str]] = {
        "agent": [*python, "-m", "forewarn", "agent", "--config", str(config)],
        "watch": [*python, "-m", "forewarn", "watch", "--poll", "0.25"],
        "sample": [*python, str(ROOT / "examples/clients/scheduled_events.py")],
    }
    for name in FOUND:
        commands[name] = [*python, "-m", f"tests.testing.bad_clients.{name}"]
    with ThreadPoolExecutor(8) as pool:
        return dict(zip(commands, pool.map(linted, commands.values()), strict=True))


def test_there_is_a_line_for_every_client() -> None:
    there = {each.stem for each in CLIENTS.glob("*.py")} - {"asking"}
    assert there == {*FOUND}


@pytest.mark.parametrize("name", FOUND)
def test_a_client_is_told_what_hurts_and_nothing_else(
    name: str, results: Mapping[str, Linted]
) -> None:
    findings = results[name].findings
    found = {f"{each.severity}: {each.rule.id}" for each in findings if each.is_found}
    assert {each for each in found if not each.startswith("advice")} == FOUND[name]


@pytest.mark.parametrize("name", ["agent", "watch", "sample"])
def test_a_good_program_hears_no_more_than_advice(
    name: str, results: Mapping[str, Linted]
) -> None:
    of_one = results[name]
    bad = [each for each in of_one.findings if each.verdict in ("error", "warning")]
    assert [(each.rule.id, each.saw) for each in bad] == [], of_one.output
    assert of_one.evidence.spans[-1].part is Part.AFTERWARDS


def test_all_that_there_is_to_see_of_the_agent_is_seen(
    results: Mapping[str, Linted],
) -> None:
    said = {each.rule.id: each.outcome for each in results["agent"].findings}
    assert said["approves-others"] is Outcome.PASSED
    assert said["approves-unprepared"] is Outcome.PASSED
    assert Outcome.UNSEEN not in said.values()
