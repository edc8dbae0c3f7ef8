"""Reference page of scenario files and their JSON Schema, from the reader's tables.

Run by `scripts/reference`; a test fails if they are out of date.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from forewarn.testing.scenario import expectations, parser
from forewarn.testing.scenario.schema import schema
from forewarn.testing.scenario.values import StepForm, StepKey

FOLDER = Path(__file__).parent / "reference"
_MANY = 2  # keys; for more, a table reads better than a list

_SCENARIO = """\
# Scenario files

Made by `scripts/reference`; do not edit.

A scenario is a TOML file: what happens to a program under test, step by step, and what
it must do. `forewarn rehearse FILE -- COMMAND...` plays it, `forewarn rehearse --check
FILE` says what is wrong with it, all at once. [How to write
one](../how-to/write-a-scenario.md). For editors there is a [JSON
Schema](scenario.schema.json), which `forewarn rehearse --schema` prints.

```toml
title = "A restart, while the service is in trouble"
vm = "web-0"
patience = "5s"

[throughout]
polls_at_least_every = "10s"
approves_only_its_own = true

[fleet]
hosts = [{ name = "host-a" }]
groups = [{ name = "web", kind = "availability-set" }]
vms = [
  { name = "web-0", group = "web", host = "host-a" },
  { name = "web-1", group = "web", host = "host-a" },
]

[[steps]]
restart = "web-0"
as = "reboot"

[[steps]]
fault = "503"
count = 2

[[steps]]
expect = "approved"
event = "reboot"
within = "10s"

[[steps]]
advance_to = "end"
of = "reboot"

[[steps]]
expect = "polled"
```

A **duration** is a number of seconds, or text such as `"90s"`, `"20m"`, `"1h30m"`,
`"1d"` or `"250ms"`. There are two kinds of time. What the service promises (`notice`,
`duration`, `fails_by`, `advance`, `outage`) runs on its clock, which stands still
until a step moves it. What a program takes (`within`, `for`, `wait`, `real`, `delay`,
`patience`) is real time. VMs, hosts and groups are those of the fleet, whatever the
case of their names. What a step calls `as = "x"` can be named by all steps after it.

If a name stands for several events, as that of a host does which several groups share,
the program's is meant that its VM sees; `approve` means the one that `by` sees.
"""


def _scenario_file() -> Iterator[str]:
    yield _SCENARIO
    yield "## At the top"
    yield ""
    yield from _keys(parser.TOP)
    yield "## `[throughout]`"
    yield ""
    yield "Expected all the time, and judged at the end."
    yield ""
    yield from _keys(expectations.THROUGHOUT)
    yield "## `[[steps]]`"
    yield ""
    yield "Each has exactly one of these verbs, and keys that go with it."
    yield ""
    for forms in parser.step_forms(0.0).values():
        for form in forms:
            yield from _step(form)


def _step(form: StepForm) -> Iterator[str]:
    value = form.verb.kind.shown
    yield f"### `{form.verb.name}` = {value}"
    yield ""
    help_ = form.verb.help
    yield f"{help_[0].upper()}{help_[1:]}."
    if form.one_of:
        names = ", ".join(f"`{key.name}`" for key in form.one_of)
        yield f"Exactly one of {names} is needed."
    yield ""
    yield from _others(form.all_keys[1:])


def _others(keys: Sequence[StepKey[object]]) -> Iterator[str]:
    if len(keys) > _MANY:
        yield from _keys(keys)
        return
    for key in keys:
        needed = ", needed" if key.is_needed else ""
        yield f"- `{key.name}`{needed}: {key.help} ({key.kind.shown})"
    if keys:
        yield ""


def _keys(keys: Sequence[StepKey[object]]) -> Iterator[str]:
    yield "| key | what is written there | meaning |"
    yield "|---|---|---|"
    for key in keys:
        needed = ", needed" if key.is_needed else ""
        yield f"| `{key.name}`{needed} | {key.kind.shown} | {key.help} |"
    yield ""


def pages() -> Mapping[str, str]:
    """Return the page and the schema by their file names."""
    return {
        "scenario-file.md": "\n".join(_scenario_file()),
        "scenario.schema.json": json.dumps(schema(), indent=2) + "\n",
    }


def main() -> None:
    """Write both files."""
    for name, text in pages().items():
        (FOLDER / name).write_text(text)


if __name__ == "__main__":
    main()
