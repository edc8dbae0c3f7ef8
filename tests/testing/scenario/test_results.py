"""Reports of a rehearsal: text, JUnit, JSON and transcript."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from xml.etree import ElementTree

from forewarn.core.lifecycle.facts import Fact, JournalEntry, Seen, Sight, Started
from forewarn.testing.rehearsal.options import fleet_of
from forewarn.testing.scenario.model import Scenario
from forewarn.testing.scenario.results import (
    ScenarioResult,
    StepResult,
    StepVerdict,
    as_json,
    as_junit,
    reasons,
    row,
    summary,
    transcript,
)

DONE = StepResult(
    number=1, what="restart web-0", verdict=StepVerdict.DONE, seconds=0.01
)
PASSED = StepResult(
    number=2, what="web-0 sees it", verdict=StepVerdict.PASSED, seconds=0.31
)
FAILED = StepResult(
    number=3,
    what="it is approved",
    verdict=StepVerdict.FAILED,
    reason="\x1b<no>",
    seconds=5,
)
MISSED = StepResult(number=4, what="it polls again", verdict=StepVerdict.NOT_REACHED)
ALWAYS = StepResult(what="it keeps running", verdict=StepVerdict.PASSED)


def a_played(*results: StepResult, output: str = "") -> ScenarioResult:
    scenario = Scenario(
        name="reboot", title="A reboot", fleet=fleet_of(), vm="web-0", steps=()
    )
    return ScenarioResult(
        scenario=scenario, results=results, seconds=1.26, output=output
    )


def test_rehearsal_with_all_expectations_met_has_passed() -> None:
    played = a_played(DONE, PASSED, ALWAYS)
    assert played.has_passed
    assert summary(played) == "PASSED reboot: 2 expectations met in 1.3 s"
    assert [*reasons(played)] == []


def test_rehearsal_with_a_failure_has_not_passed() -> None:
    played = a_played(DONE, PASSED, FAILED, MISSED)
    assert not played.has_passed
    assert summary(played) == "FAILED reboot after 1.3 s"
    assert [*reasons(played)] == ["step 3: it is approved: \x1b<no>"]


def test_unreached_expectation_has_not_passed() -> None:
    assert not a_played(DONE, MISSED).has_passed


def test_table_uses_capitals_only_for_failures() -> None:
    assert row(FAILED) == ("3", "it is approved", "FAILED", "5.0 s")
    assert row(PASSED) == ("2", "web-0 sees it", "passed", "0.3 s")
    assert row(MISSED) == ("4", "it polls again", "not reached", "")
    assert row(ALWAYS) == ("", "it keeps running", "passed", "")


def test_junit_counts_expectations() -> None:
    text = as_junit(a_played(DONE, PASSED, FAILED, MISSED, ALWAYS, output="a\x00b"))
    suite = ElementTree.fromstring(text.encode()).find("testsuite")
    assert suite is not None
    counts = {name: suite.get(name) for name in ("tests", "failures", "skipped")}
    assert counts == {"tests": "4", "failures": "1", "skipped": "1"}
    cases = suite.findall("testcase")
    assert [case.get("name") for case in cases] == [
        "02 web-0 sees it",
        "03 it is approved",
        "04 it polls again",
        "throughout it keeps running",
    ]
    failure = cases[1].find("failure")
    assert failure is not None
    assert failure.get("message") == "<no>"  # without characters invalid in XML
    assert "ab" in (suite.findtext("system-out") or "")


def test_junit_of_a_passed_rehearsal_has_no_output() -> None:
    text = as_junit(a_played(PASSED, output="chatter"))
    assert "chatter" not in text
    assert "<failure" not in text


def test_json_has_every_step_with_its_reason() -> None:
    plain = as_json(a_played(PASSED, FAILED))
    assert plain["passed"] is False
    assert plain["results"] == [
        {
            "step": 2,
            "what": "web-0 sees it",
            "verdict": "passed",
            "reason": None,
            "seconds": 0.31,
        },
        {
            "step": 3,
            "what": "it is approved",
            "verdict": "failed",
            "reason": "\x1b<no>",
            "seconds": 5,
        },
    ]


def test_junit_is_valid_whatever_the_file_name() -> None:
    played = a_played(PASSED)
    odd = replace(played, scenario=replace(played.scenario, name="we\x01ird\udcff"))
    suite = ElementTree.fromstring(as_junit(odd).encode()).find("testsuite")
    assert suite is not None
    assert suite.get("name") == "forewarn.weird"


# --- transcript --------------------------------------------------------------


def test_transcript_has_the_order_of_facts_but_not_the_time_of_polls() -> None:
    at = datetime(2026, 1, 1, 12, tzinfo=UTC)
    one, two = (Started(at=at, maintenance=id_) for id_ in ("m0", "m1"))
    seen = Seen(at=at, sights=(Sight(event="e0", vm="web-0", at=at),))

    def lines(*facts: Fact) -> list[str]:
        entries = [JournalEntry(position=n, fact=fact) for n, fact in enumerate(facts)]
        return [*transcript("test", 1, [], entries, at)]

    assert lines(one, seen, two) == lines(one, two, seen)
    assert lines(one, two) != lines(two, one)


def test_times_before_the_first_step_are_not_in_the_transcript() -> None:
    began = datetime(2026, 1, 1, 12, tzinfo=UTC)

    def at(seconds: float) -> list[str]:
        fact = Started(at=began + timedelta(seconds=seconds), maintenance="m0")
        entry = JournalEntry(position=1, fact=fact)
        return [*transcript("test", 1, [], [entry], began)]

    assert at(-3) == at(-1) == at(0) != at(1)
