"""Scenario information of `forewarn rehearse`: --check, --list, --show, --schema."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from forewarn.cli.output import clean, table, write, write_json
from forewarn.errors import FaultyFile, NotFound
from forewarn.formats import count
from forewarn.testing.scenario import parser
from forewarn.testing.scenario.model import (
    ExpectStep,
    Scenario,
    SetFaultStep,
    Throughout,
)
from forewarn.testing.scenario.schema import schema


@dataclass(frozen=True, slots=True, kw_only=True)
class _Checked:
    file: str
    scenario: Scenario | None = None
    wrong: tuple[str, ...] = ()


def check(given: Sequence[str], *, as_json: bool) -> int:
    """Validate scenario files or bundled scenarios; return 1 if any is invalid."""
    checked = [_check(item) for item in given]
    if as_json:
        write_json({"files": [_plain(item) for item in checked]})
    else:
        for item in checked:
            _write_checked(item)
    return 1 if any(item.wrong for item in checked) else 0


def _check(given: str) -> _Checked:
    try:
        return _Checked(file=given, scenario=parser.load_scenario(given))
    except (FaultyFile, NotFound) as error:
        return _Checked(file=given, wrong=tuple(str(error).splitlines()))


def _write_checked(checked: _Checked) -> None:
    for sentence in checked.wrong:
        write(clean(sentence))
    if checked.scenario is not None:
        steps = count(len(checked.scenario.steps), "step")
        expected = count(_count_expectations(checked.scenario), "expectation")
        write(f"{clean(checked.file)}: ok, {steps}, {expected}")


def _plain(checked: _Checked) -> dict[str, object]:
    plain: dict[str, object] = {
        "file": checked.file,
        "ok": not checked.wrong,
        "wrong": [*checked.wrong],
    }
    if checked.scenario is not None:
        plain |= _summary(checked.scenario)
    return plain


def _summary(scenario: Scenario) -> dict[str, object]:
    return {
        "name": scenario.name,
        "title": scenario.title,
        "steps": len(scenario.steps),
        "expectations": _count_expectations(scenario),
    }


def _count_expectations(scenario: Scenario) -> int:
    """Count all expectations: an initial poll, those of steps, and permanent ones."""
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
    """Print a bundled scenario, as a starting point for your own."""
    write(parser.bundled_file(name).read_text(encoding="utf-8").rstrip("\n"))
    return 0


def show_schema() -> int:
    """Print the JSON Schema of scenario files."""
    write(json.dumps(schema(), indent=2))
    return 0
