"""Results of a rehearsal, as text, JSON, JUnit XML and a transcript."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from datetime import datetime
from enum import StrEnum
from xml.etree import ElementTree as xml

from forewarn.core.lifecycle.facts import JournalEntry, Seen
from forewarn.core.serialization import to_plain
from forewarn.formats import count, format_duration
from forewarn.testing.scenario.model import Scenario

Json = dict[str, object]

HEADER = ("step", "what", "verdict", "took")


class StepVerdict(StrEnum):
    """The result of one step."""

    DONE = "done"  #: carried out; nothing was expected
    PASSED = "passed"  #: the program met the expectation
    FAILED = "failed"  #: the program did not meet it, or the step failed
    NOT_REACHED = "not reached"  #: an earlier step failed


@dataclass(frozen=True, slots=True, kw_only=True)
class StepResult:
    """A row of the verdict table."""

    what: str
    verdict: StepVerdict
    number: int | None = None  # the step's number; None for the whole scenario
    reason: str | None = None  # why it failed, if it did
    seconds: float = 0.0  # in real time


@dataclass(frozen=True, slots=True, kw_only=True)
class ScenarioResult:
    """The result of a whole rehearsal."""

    scenario: Scenario
    results: Sequence[StepResult]
    seconds: float  # in real time
    timeline: Sequence[str] = ()  # what happened, to help diagnose failures
    output: str = ""  # the end of the program's output
    transcript: Sequence[str] = ()  # JSON lines, identical for the same seed

    @property
    def expected(self) -> Sequence[StepResult]:
        """The results of all expectations and of any other steps that failed."""
        return [
            result for result in self.results if result.verdict is not StepVerdict.DONE
        ]

    @property
    def failed(self) -> Sequence[StepResult]:
        """The failed results."""
        return [
            result for result in self.results if result.verdict is StepVerdict.FAILED
        ]

    @property
    def has_passed(self) -> bool:
        """Return whether all steps and expectations passed."""
        return all(
            result.verdict in (StepVerdict.DONE, StepVerdict.PASSED)
            for result in self.results
        )


# --- text --------------------------------------------------------------------


def row(result: StepResult) -> Sequence[str]:
    """Format one row of the verdict table."""
    number = "" if result.number is None else str(result.number)
    shown = result.verdict.value
    if result.verdict is StepVerdict.FAILED:
        shown = shown.upper()
    reached = (
        result.verdict is not StepVerdict.NOT_REACHED and result.number is not None
    )
    return (number, result.what, shown, f"{result.seconds:.1f} s" if reached else "")


def summary(played: ScenarioResult) -> str:
    """Summarize the rehearsal in a single sentence."""
    name, took = played.scenario.name, format_duration(max(played.seconds, 0.1))
    if played.has_passed:
        expected = count(len(played.expected), "expectation")
        return f"PASSED {name}: {expected} met in {took}"
    return f"FAILED {name} after {took}"


def reasons(played: ScenarioResult) -> Iterator[str]:
    """Yield where and why each failed expectation or step failed."""
    for result in played.failed:
        where = "throughout" if result.number is None else f"step {result.number}"
        yield f"{where}: {result.what}: {result.reason}"


# --- JSON --------------------------------------------------------------------


def as_json(played: ScenarioResult) -> Json:
    """Convert the result to JSON values."""
    return {
        "scenario": played.scenario.name,
        "title": played.scenario.title,
        "vm": played.scenario.vm,
        "passed": played.has_passed,
        "seconds": round(played.seconds, 3),
        "results": [
            {
                "step": result.number,
                "what": result.what,
                "verdict": result.verdict.value,
                "reason": result.reason,
                "seconds": round(result.seconds, 3),
            }
            for result in played.results
        ],
        "timeline": [*played.timeline],
        "output": played.output,
    }


# --- JUnit XML ---------------------------------------------------------------


def as_junit(played: ScenarioResult) -> str:
    """Format the expectations as JUnit XML, which most CI systems can display."""
    name = xml_text(f"forewarn.{played.scenario.name}")
    output = "\n".join([*played.timeline, "", played.output])
    return junit_text(
        name,
        [_case(name, result) for result in played.expected],
        seconds=played.seconds,
        output=None if played.has_passed else output,
    )


def _case(suite: str, result: StepResult) -> xml.Element:
    number = "throughout" if result.number is None else f"{result.number:02}"
    name, time = xml_text(f"{number} {result.what}"), f"{result.seconds:.3f}"
    case = xml.Element("testcase", classname=suite, name=name, time=time)
    if result.verdict is StepVerdict.FAILED:
        reason = xml_text(result.reason or "")
        xml.SubElement(case, "failure", message=reason).text = reason
    elif result.verdict is StepVerdict.NOT_REACHED:
        xml.SubElement(case, "skipped", message="an earlier step failed")
    return case


def junit_text(
    name: str, cases: Sequence[xml.Element], *, seconds: float, output: str | None
) -> str:
    """Format an XML file with a single suite of test cases."""
    whole = xml.Element("testsuites")
    suite = xml.SubElement(
        whole,
        "testsuite",
        name=name,
        tests=str(len(cases)),
        failures=str(sum(case.find("failure") is not None for case in cases)),
        errors="0",
        skipped=str(sum(case.find("skipped") is not None for case in cases)),
        time=f"{seconds:.3f}",
    )
    suite.extend(cases)
    if output is not None:
        xml.SubElement(suite, "system-out").text = xml_text(output)
    xml.indent(whole)
    text: str = xml.tostring(whole, encoding="unicode")
    return f'<?xml version="1.0" encoding="utf-8"?>\n{text}\n'


def xml_text(text: str) -> str:
    """Return `text` without characters that XML cannot contain."""
    return "".join(char for char in text if char in "\n\t" or char.isprintable())


# --- transcript --------------------------------------------------------------


def transcript(
    name: str,
    seed: int | None,
    results: Sequence[StepResult],
    entries: Sequence[JournalEntry],
    began: datetime,
) -> Iterator[str]:
    """Yield the scenario, its results and all journal entries except sightings.

    Times are in seconds since `began`, and 0 for earlier ones, which depend on how fast
    the program starts.
    """
    lines: list[object] = [{"scenario": name, "seed": seed}]
    lines += [
        {"step": item.number, "what": item.what, "verdict": item.verdict}
        for item in results
    ]
    lines += [
        {"fact": type(item.fact).__name__}
        | {field.name: getattr(item.fact, field.name) for field in fields(item.fact)}
        for item in entries
        if not isinstance(item.fact, Seen)
    ]

    def seconds(moment: datetime) -> float:
        return max(round((moment - began).total_seconds(), 3), 0.0)

    for line in lines:
        yield json.dumps(to_plain(line, {datetime: seconds}), ensure_ascii=False)
