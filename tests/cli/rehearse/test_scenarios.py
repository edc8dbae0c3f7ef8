"""Tests of `forewarn rehearse --check`, `--list`, `--show` and `--schema`."""

import json
import tomllib
from pathlib import Path

import pytest
from tests.cli.support.command_line import Cli

from forewarn.testing.scenario import parser

GOOD = 'title = "t"\n[[steps]]\nrestart = "web-0"\n[[steps]]\nexpect = "polled"\n'
BAD = 'title = "t"\n[[steps]]\nrestart = "web-9"\n[[steps]]\nexpect = "poled"\n'


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a good and a bad scenario file into the current folder."""
    monkeypatch.chdir(tmp_path)
    Path("good.toml").write_text(GOOD)
    Path("bad.toml").write_text(BAD)


def test_a_good_file_is_ok(run: Cli) -> None:
    # It polls at all, one expectation in a step, and it keeps running.
    assert (
        run("rehearse --check good.toml") == "good.toml: ok, 2 steps, 3 expectations\n"
    )


def test_no_first_poll_is_expected_after_a_fault(run: Cli) -> None:
    fault = '[[steps]]\nfault = "503"\n[[steps]]'
    Path("good.toml").write_text(GOOD.replace("[[steps]]", fault, 1))
    assert (
        run("rehearse --check good.toml") == "good.toml: ok, 3 steps, 2 expectations\n"
    )


def test_all_errors_of_all_files_are_reported(run: Cli) -> None:
    lines = run("rehearse --check bad.toml good.toml gone.toml", code=1).splitlines()
    assert [line.partition(": ")[0] for line in lines] == [
        "bad.toml, line 3",
        "bad.toml, line 5",
        "good.toml",
        "cannot read gone.toml",
    ]


def test_check_prints_json(run: Cli) -> None:
    printed = run("rehearse --check bad.toml good.toml --json", code=1)
    bad, good = json.loads(printed)["files"]
    assert (bad["file"], bad["ok"], len(bad["wrong"])) == ("bad.toml", False, 2)
    assert good == {
        "file": "good.toml",
        "ok": True,
        "wrong": [],
        "name": "good",
        "title": "t",
        "steps": 2,
        "expectations": 3,
    }


def test_unknown_name_is_reported_and_the_rest_is_checked(run: Cli) -> None:
    printed = run("rehearse --check user-rebot good.toml", code=1)
    first, second = printed.splitlines()
    assert first == 'there is no scenario user-rebot; did you mean "user-reboot"?'
    assert second.startswith("good.toml: ok")


def test_all_bundled_scenarios_are_listed_in_80_columns(run: Cli) -> None:
    lines = run("rehearse --list").splitlines()
    assert [line.split()[0] for line in lines] == ["scenario", *parser.bundled_names()]
    assert max(map(len, lines)) <= 80


def test_list_prints_json(run: Cli) -> None:
    listed = json.loads(run("rehearse --list --json"))["scenarios"]
    assert [scenario["name"] for scenario in listed] == [*parser.bundled_names()]


@pytest.mark.parametrize("name", parser.bundled_names())
def test_shown_scenario_can_be_checked(name: str, run: Cli) -> None:
    Path("mine.toml").write_text(run(f"rehearse --show {name}"))
    run("rehearse --check mine.toml")
    assert tomllib.loads(Path("mine.toml").read_text())["title"]


def test_only_bundled_scenarios_are_shown(run: Cli) -> None:
    assert "there is no scenario good.toml" in run("rehearse --show good.toml", code=1)


def test_the_schema_is_printed(run: Cli) -> None:
    assert json.loads(run("rehearse --schema"))["$schema"].endswith("2020-12/schema")
