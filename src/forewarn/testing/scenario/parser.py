"""A parser for scenario files, including the bundled scenarios."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import resources
from pathlib import Path
from typing import TypeAlias

from forewarn.configfile import toml
from forewarn.configfile.diagnostics import Diagnostics, Location
from forewarn.configfile.values import invalid_value, nearest, one_of, suggestion
from forewarn.core.fleet import Fleet
from forewarn.errors import FaultyFile, InvalidInput, NotFound
from forewarn.formats import join_all
from forewarn.testing.rehearsal.options import fleet_of
from forewarn.testing.scenario import expectations, values, vocabulary
from forewarn.testing.scenario.model import (
    Expectation,
    ExpectStep,
    Scenario,
    Step,
    Throughout,
)
from forewarn.testing.scenario.names import NamedEvent, StepNames
from forewarn.testing.scenario.values import (
    StepForm,
    StepKey,
    StepTable,
    ValueKind,
    read_table,
)
from forewarn.testing.scenario.vocabulary import AS

#: Step forms, keyed by verb. Forms with the same verb differ in the verb's value.
Forms: TypeAlias = Mapping[str, Sequence[StepForm]]

_PATIENCE = 10.0  # seconds of real time, for a program that polls every second
_SUFFIX = ".toml"


def _part(shown: str) -> ValueKind[object]:
    """Return a value kind for a part of the file that is parsed separately."""
    return ValueKind(reader=lambda _: lambda value: value, schema={}, shown=shown)


TITLE = StepKey(
    name="title",
    kind=values.TEXT,
    help="summary of the scenario in one line",
    is_needed=True,
)
DESCRIPTION = StepKey(
    name="description",
    kind=values.TEXT,
    help="description of the situation and of what a program should do",
)
VM = StepKey(
    name="vm",
    kind=values.VM,
    help="the VM in which the program runs; default: the first VM in the fleet",
)
FLEET = StepKey(
    name="fleet",
    kind=_part("a path or a table"),
    help="path to a fleet file, relative to this file, or its content as a table;"
    " default: the demo fleet",
)
PATIENCE = StepKey(
    name="patience",
    kind=values.REAL_DURATION,
    help="time limit for expectations without `within`; default: 10s",
)
THROUGHOUT = StepKey(
    name="throughout",
    kind=_part("a table"),
    help="expectations that apply to the whole scenario",
)
STEPS = StepKey(
    name="steps",
    kind=_part("at least one table"),
    help="the steps, in order",
    is_needed=True,
)

TOP: tuple[StepKey[object], ...] = (
    TITLE,
    DESCRIPTION,
    VM,
    FLEET,
    PATIENCE,
    THROUGHOUT,
    STEPS,
)


# --- scenarios ---------------------------------------------------------------


def load_scenario(given: str) -> Scenario:
    """Read the scenario at the path `given`, or the bundled scenario with that name."""
    return read_scenario(find_scenario(given))


def find_scenario(given: str) -> Path:
    """Return the path `given`, or the file of the bundled scenario with that name.

    An existing file or a string that looks like a path is never treated as a name.
    """
    path = Path(given)
    if path.is_file() or "/" in given or given.endswith(_SUFFIX):
        return path
    return bundled_file(given)


def bundled_names() -> Sequence[str]:
    """Return the names of all bundled scenarios, sorted."""
    return sorted(path.stem for path in _folder().glob(f"*{_SUFFIX}"))


def bundled_file(name: str) -> Path:
    """Return the file of the bundled scenario `name`."""
    if name in bundled_names():
        return _folder() / f"{name}{_SUFFIX}"
    near = (
        suggestion(name, bundled_names())
        or "; for all scenarios, run `forewarn rehearse --list`"
    )
    raise NotFound(f'scenario "{name}" not found{near}')


def _folder() -> Path:
    return Path(str(resources.files("forewarn") / "scenarios"))


def read_scenario(path: Path) -> Scenario:
    """Read a scenario file and its fleet file."""
    content = toml.read_bytes(path, FaultyFile)
    return parse_scenario(toml.decode(content, path, FaultyFile), path)


def parse_scenario(text: str, path: Path) -> Scenario:
    """Parse `text`, the contents of the file `path`."""
    plain = toml.parse(text, path, FaultyFile)
    complaints = Diagnostics(file=path, lines=toml.lines_of(text))
    scenario = _scenario(plain, Location(diagnostics=complaints))
    if complaints.errors or scenario is None:
        raise FaultyFile("\n".join(complaints.errors))
    return scenario


def _scenario(plain: Mapping[str, object], top: Location) -> Scenario | None:
    names = StepNames(fleet=_fleet(plain, top))
    row = read_table(plain, TOP, top, names)
    names.vm = _vm(plain, names)
    patience = None if row is None else row.get(PATIENCE)
    forms = step_forms(_PATIENCE if patience is None else patience)
    steps = _steps(plain.get("steps", ()), forms, top.below("steps"), names)
    throughout = _throughout(plain.get("throughout", {}), steps, top, names)
    if row is None or names.fleet is None or throughout is None:
        return None
    return Scenario(
        name=top.diagnostics.file.stem,
        title=row.must(TITLE),
        description=row.get(DESCRIPTION) or "",
        fleet=names.fleet,
        vm=names.vm,
        steps=steps,
        throughout=throughout,
    )


def _fleet(plain: Mapping[str, object], top: Location) -> Fleet | None:
    """Read the fleet; return None if it is invalid."""
    source = plain.get("fleet")
    try:
        if source is None or isinstance(source, dict):
            fleet = fleet_of(source)
        elif isinstance(source, str) and source.strip():
            fleet = fleet_of(top.folder / source)
        else:
            expected = "a path, or a table in the format of a fleet file"
            raise InvalidInput(f"fleet: {invalid_value(expected, source)}")
        if not fleet.vms:
            raise InvalidInput("the fleet has no VMs")
    except InvalidInput as error:
        top.below("fleet").refuse(str(error))
        return None
    return fleet


def _vm(plain: Mapping[str, object], names: StepNames) -> str:
    """Return the program's VM, or "" if invalid; errors are reported elsewhere."""
    if "vm" not in plain:
        return "" if names.fleet is None else next(iter(names.fleet.vms))
    try:
        return VM.kind.reader(names)(plain["vm"])
    except InvalidInput:
        return ""


def _steps(
    tables: object, forms: Forms, location: Location, names: StepNames
) -> tuple[Step, ...]:
    if not isinstance(tables, list) or not tables:
        if tables != ():
            location.refuse(f"steps: {invalid_value('[[steps]] tables', tables)}")
        return ()
    parsed = [
        _read_step(table, number, forms, location.below(number - 1), names)
        for number, table in enumerate(tables, 1)
    ]
    return tuple(step for step in parsed if step is not None)


def _throughout(
    table: object, steps: Sequence[Step], top: Location, names: StepNames
) -> Throughout | None:
    location = top.below("throughout", "[throughout]")
    row = read_table(table, expectations.THROUGHOUT, location, names)
    if row is None:
        return None
    ends = any(
        isinstance(e, ExpectStep) and e.expectation is Expectation.ENDED for e in steps
    )
    try:
        return expectations.throughout(row, ends=ends)
    except InvalidInput as error:
        location.key("keeps_running").refuse(str(error))
        return None


# --- steps -------------------------------------------------------------------


def step_forms(patience: float) -> Forms:
    """Return all step forms. By default, expectations wait `patience` real seconds."""
    by_verb: dict[str, list[StepForm]] = {}
    for form in (
        *vocabulary.VERBS,
        *expectations.FAULTS,
        *expectations.expectations(patience),
    ):
        by_verb.setdefault(form.verb.name, []).append(form)
    return by_verb


def _read_step(
    table: object, number: int, forms: Forms, location: Location, names: StepNames
) -> Step | None:
    """Parse step `number`; return None if it is invalid."""
    location = replace(location, label=f"step {number}")
    if not isinstance(table, dict):
        location.refuse(str(invalid_value("a table", table)))
        return None
    form = _form(table, forms, location)
    row = None if form is None else read_table(table, form.all_keys, location, names)
    step = None
    try:
        if form is not None and row is not None:
            _check_choice(table, form)
            step = form.make(row, names)
    except InvalidInput as error:
        location.refuse(str(error))
        row = None
    _register_name(table, number, form, row, location, names)
    return step


def _form(
    table: Mapping[str, object], forms: Forms, location: Location
) -> StepForm | None:
    verbs_used = [name for name in table if name in forms]
    if len(verbs_used) != 1:
        location.refuse(_no_verb(table, verbs_used, forms))
        return None
    (verb,) = verbs_used
    value, choices = table[verb], forms[verb]
    if len(choices) == 1:
        return choices[0]
    words = [word for form in choices for word in form.verb.kind.words]
    for form in choices:
        if value in form.verb.kind.words:
            return form
    try:
        one_of(*words, is_exact=True)(value)
    except InvalidInput as error:
        location.key(verb).refuse(str(error))
    return None


def _no_verb(table: Mapping[str, object], given: Sequence[str], forms: Forms) -> str:
    if given:
        return (
            f"a step can have only one verb, not {join_all(given)}; use a separate"
            " step for each"
        )
    for name in table:
        near = nearest(name, forms)
        if near is not None:
            return f'{name}: unknown key; did you mean "{near}"?'
    return f"the step has no verb; expected one of: {', '.join(forms)}"


def _check_choice(table: Mapping[str, object], form: StepForm) -> None:
    names = [key.name for key in form.one_of]
    used = [name for name in names if name in table]
    if names and len(used) != 1:
        raise InvalidInput(
            f"{form.verb.name} requires exactly one of {join_all(names)}"
        )


def _register_name(
    table: Mapping[str, object],
    number: int,
    form: StepForm | None,
    row: StepTable | None,
    location: Location,
    names: StepNames,
) -> None:
    """Make the name that a step sets available to later steps.

    The name becomes available even if the step is invalid.
    """
    name = table.get(AS.name)
    if not isinstance(name, str):
        return
    if name in names.events:
        first = names.events[name].step
        location.key("as").refuse(f'step {first} already uses the name "{name}"')
        return
    touches = None if form is None else form.touches
    vms = None if row is None or touches is None else touches(row, names)
    names.events[name] = NamedEvent(step=number, vms=vms)
