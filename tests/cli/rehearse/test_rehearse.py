"""Tests of `forewarn rehearse`: its options, result files and exit codes."""

import json
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest
from tests.cli.support.command_line import Cli

from forewarn.cli import main
from forewarn.testing.rehearsal.options import fleet_of
from forewarn.testing.scenario import player
from forewarn.testing.scenario.model import Scenario
from forewarn.testing.scenario.results import (
    ScenarioResult,
    StepResult,
    StepVerdict,
)

Capture = pytest.CaptureFixture[str]

PLAYED = ScenarioResult(
    scenario=Scenario(
        name="reboot", title="A reboot", fleet=fleet_of(), vm="web-0", steps=()
    ),
    results=[StepResult(number=1, what="web-0 sees it", verdict=StepVerdict.PASSED)],
    seconds=1.0,
    transcript=['{"fact": "Approved"}'],
)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run in a folder of its own, and leave signal handlers alone."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("forewarn.cli.rehearse.rehearse.prepare_process", lambda: None)


@pytest.fixture
def runs(monkeypatch: pytest.MonkeyPatch) -> Sequence[player.ScenarioRun]:
    """Collect the runs that are requested, and report each of them as passed."""
    requested: list[player.ScenarioRun] = []

    def play(scenario: object, run: player.ScenarioRun, progress: object) -> object:
        del scenario, progress
        requested.append(run)
        return PLAYED

    monkeypatch.setattr(player, "play", play)
    return requested


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("user-reboot handler", "'handler': only one scenario is played. Put the"),
        ("user-reboot --strict -- true", "--strict requires --lint"),
        ("user-reboot --verbose -- true", "--verbose requires --lint"),
        ("--lint handler", "'handler': --lint does not play a scenario. Put the"),
        ("--lint", "no program to run; usage: forewarn rehearse --lint -- COMMAND"),
        ("--lint --seed 7 -- true", "--seed cannot be used with --lint"),
        ("--lint --quiet --verbose -- true", "--verbose"),
    ],
)
def test_unusable_words_are_an_error(run: Cli, words: str, message: str) -> None:
    assert message in run(f"rehearse {words}", code=2)


def test_every_option_of_a_rehearsal_reaches_it(
    runs: Sequence[player.ScenarioRun],
    run: Cli,
) -> None:
    words = ["--seed=7", "--timeout=2m", "--metadata=127.0.0.1:81", "--output=o"]
    program = ("handler", "--json", "--", "-x")
    run("rehearse user-reboot", *words, "--", *program)
    assert [*runs] == [
        player.ScenarioRun(
            command=[*program],
            seed=7,
            timeout=120.0,
            metadata="127.0.0.1:81",
            output="o",
        )
    ]


@pytest.mark.usefixtures("runs")
def test_results_are_written_as_requested(tmp_path: Path, capsys: Capture) -> None:
    words = ["--json", "--quiet", "--junit=r.xml", "--transcript=t.jsonl"]
    assert main.main(["rehearse", "user-reboot", *words, "--", "handler"]) == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["passed"] is True
    assert printed.err == ""
    suites = ElementTree.parse(tmp_path / "r.xml").getroot()
    assert suites.find("testsuite[@tests='1'][@failures='0']") is not None
    assert (tmp_path / "t.jsonl").read_text() == '{"fact": "Approved"}\n'


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("no-such", "--", "true"), 'scenario "no-such" not found'),
        (("user-reboot", "--", "no-such"), "cannot start no-such"),
        (("user-reboot", "--junit", "x/y", "--", "true"), "cannot write x/y"),
        (("user-reboot", "--metadata", "192.0.2.1:80", "--", "true"), "192.0.2.1"),
    ],
)
def test_rehearsal_that_cannot_start_is_an_error_message(
    words: Sequence[str], said: str, run: Cli
) -> None:
    message = run("rehearse", *words, code=1)
    assert said in message
    assert "Traceback" not in message


def test_rehearsal_that_cannot_start_leaves_no_empty_report(
    tmp_path: Path, run: Cli
) -> None:
    words = ("--junit", "r.xml", "--transcript", "t.jsonl", "--", "no-such")
    run("rehearse user-reboot", *words, code=1)
    assert [*tmp_path.iterdir()] == []
