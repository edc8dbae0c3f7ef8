"""Scenario options of `forewarn rehearse`: --check, --list, --show and --schema."""

import json
from collections.abc import Mapping, Sequence

from forewarn.cli.output import table, write, write_json
from forewarn.errors import FaultyFile, NotFound
from forewarn.formats import clean, count
from forewarn.testing.scenario import parser
from forewarn.testing.scenario.model import (
    ExpectStep,
    Scenario,
    SetFaultStep,
    Throughout,
)
from forewarn.testing.scenario.schema import schema


def check(given: Sequence[str], *, as_json: bool) -> int:
    """Validate scenario files or bundled scenarios; return 1 if any is invalid."""
    checked = [_check(file) for file in given]
    if as_json:
        write_json({"files": [plain for plain, _ in checked]})
    else:
        for _, text in checked:
            write(text)
    return 0 if all(plain["ok"] for plain, _ in checked) else 1


def _check(file: str) -> tuple[Mapping[str, object], str]:
    """Check a single file; return the result as JSON and as text."""
    try:
        scenario = parser.load_scenario(file)
    except (FaultyFile, NotFound) as error:
        wrong = str(error).splitlines()
        return {"file": file, "ok": False, "wrong": wrong}, "\n".join(map(clean, wrong))
    steps = count(len(scenario.steps), "step")
    expected = count(_count_expectations(scenario), "expectation")
    plain = {"file": file, "ok": True, "wrong": [], **_summary(scenario)}
    return plain, f"{clean(file)}: ok, {steps}, {expected}"


def _summary(scenario: Scenario) -> dict[str, object]:
    return {
        "name": scenario.name,
        "title": scenario.title,
        "steps": len(scenario.steps),
        "expectations": _count_expectations(scenario),
    }


def _count_expectations(scenario: Scenario) -> int:
    """Count all expectations, including the initial poll and those in `throughout`."""
    always = scenario.throughout
    nothing = Throughout(keeps_running=False)
    permanent = [
        name
        for name in Throughout.__dataclass_fields__
        if getattr(always, name) != getattr(nothing, name)
    ]
    asks = not scenario.steps or not isinstance(scenario.steps[0], SetFaultStep)
    by_steps = sum(isinstance(step, ExpectStep) for step in scenario.steps)
    return asks + by_steps + len(permanent)


def list_bundled(*, as_json: bool) -> int:
    """List the bundled scenarios."""
    scenarios = [parser.load_scenario(name) for name in parser.bundled_names()]
    if as_json:
        write_json({"scenarios": [_summary(scenario) for scenario in scenarios]})
    else:
        rows = [(scenario.name, scenario.title) for scenario in scenarios]
        write(table(("scenario", "what happens"), rows))
    return 0


def show(name: str) -> int:
    """Print a bundled scenario, which users can adapt."""
    write(parser.bundled_file(name).read_text(encoding="utf-8").rstrip("\n"))
    return 0


def show_schema() -> int:
    """Print the JSON Schema for scenario files."""
    write(json.dumps(schema(), indent=2))
    return 0
