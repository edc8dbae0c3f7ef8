"""Reports of a rehearsal: table, reasons, summary, JSON and JUnit XML (pure)."""

from collections.abc import Iterator, Sequence
from xml.etree import ElementTree as xml

from forewarn.testing.junit import written, xml_text
from forewarn.testing.verdicts import Played, Result, Verdict

Json = dict[str, object]


def row(result: Result) -> Sequence[str]:
    """Lay out one row of the verdict table."""
    number = "" if result.number is None else str(result.number)
    shown = result.verdict.value
    if result.verdict is Verdict.FAILED:
        shown = shown.upper()
    reached = result.verdict is not Verdict.NOT_REACHED and result.number is not None
    return (number, result.what, shown, f"{result.seconds:.1f} s" if reached else "")


HEADER = ("step", "what", "verdict", "took")


def summary(played: Played) -> str:
    """Sum up the rehearsal in one sentence."""
    name, took = played.scenario.name, f"{played.seconds:.1f} s"
    expected = len(played.expected)
    if played.has_passed:
        noun = "expectation" if expected == 1 else "expectations"
        return f"PASSED {name}: {expected} {noun} met in {took}"
    return f"FAILED {name} after {took}"


def reasons(played: Played) -> Iterator[str]:
    """Yield where and why each expectation or step failed."""
    for result in played.failed:
        where = "throughout" if result.number is None else f"step {result.number}"
        yield f"{where}: {result.what}: {result.reason}"


def as_json(played: Played) -> Json:
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


def as_junit(played: Played) -> str:
    """Format the expectations as JUnit XML, which every CI can show."""
    expected = played.expected
    skipped = [result for result in expected if result.verdict is Verdict.NOT_REACHED]
    suite = xml.Element(
        "testsuite",
        name=_suite(played),
        tests=str(len(expected)),
        failures=str(len(played.failed)),
        errors="0",
        skipped=str(len(skipped)),
        time=f"{played.seconds:.3f}",
    )
    for result in expected:
        suite.append(_case(played, result))
    if not played.has_passed:
        output = xml.SubElement(suite, "system-out")
        output.text = xml_text("\n".join([*played.timeline, "", played.output]))
    return written(suite)


def _case(played: Played, result: Result) -> xml.Element:
    number = "throughout" if result.number is None else f"{result.number:02}"
    case = xml.Element(
        "testcase",
        classname=_suite(played),
        name=xml_text(f"{number} {result.what}"),
        time=f"{result.seconds:.3f}",
    )
    if result.verdict is Verdict.FAILED:
        reason = xml_text(result.reason or "")
        xml.SubElement(case, "failure", message=reason).text = reason
    elif result.verdict is Verdict.NOT_REACHED:
        xml.SubElement(case, "skipped", message="an earlier step failed")
    return case


def _suite(played: Played) -> str:
    return xml_text(f"forewarn.{played.scenario.name}")
