"""Scenario file reader: TOML in, a scenario or all errors of the file out.

It needs nothing of the service.
"""

import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path

from forewarn.agent.complaints import Complaints, Place
from forewarn.agent.lines import lines_of
from forewarn.agent.values import wrong
from forewarn.core.fleet import Fleet
from forewarn.errors import FaultyFile, InvalidInput
from forewarn.testing import demands, kinds, steps
from forewarn.testing.fleets import fleet_of
from forewarn.testing.keys import Key, read_row
from forewarn.testing.kinds import Kind
from forewarn.testing.known import Known
from forewarn.testing.scenario import Demand, Expect, Scenario, Step, Throughout

_PATIENCE = 10.0  # seconds of real time, for a program that polls every second


def _as_it_is(value: object, _: Known) -> object:
    return value  # parsed separately


def _part(shown: str) -> Kind[object]:
    return Kind(read=_as_it_is, schema={}, shown=shown)


TITLE = Key(
    name="title", kind=kinds.TEXT, help="what happens, in a line", is_needed=True
)
DESCRIPTION = Key(
    name="description", kind=kinds.TEXT, help="what it is, and what a program should do"
)
VM = Key(
    name="vm",
    kind=kinds.VM,
    help="whom the program speaks for; if absent, the first VM of the fleet",
)
FLEET = Key(
    name="fleet",
    kind=_part("a path, or a table"),
    help="the path of a fleet file, from this file on, or what stands in one; if"
    " absent, the demo fleet",
)
PATIENCE = Key(
    name="patience",
    kind=kinds.REAL,
    help="how long an expectation waits that does not say `within`; if absent, 10s",
)
THROUGHOUT = Key(
    name="throughout", kind=_part("a table"), help="what is expected all the time"
)
STEPS = Key(
    name="steps",
    kind=_part("tables, at least one"),
    help="what happens, in order",
    is_needed=True,
)

TOP: tuple[Key[object], ...] = (
    TITLE,
    DESCRIPTION,
    VM,
    FLEET,
    PATIENCE,
    THROUGHOUT,
    STEPS,
)


def read(path: Path) -> Scenario:
    """Read a scenario file and its fleet file."""
    try:
        text = path.read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise FaultyFile(f"{path} cannot be read: {why}") from error
    except UnicodeDecodeError as error:
        raise FaultyFile(f"{path}: this is not UTF-8") from error
    return parse(text, path)


def parse(text: str, path: Path) -> Scenario:
    """Parse `text`, the contents of the file `path`."""
    try:
        plain = tomllib.loads(text)
        complaints = Complaints(file=path, lines=lines_of(text))
    except ValueError as error:
        raise FaultyFile(f"{path}: this is not TOML: {error}") from error
    except RecursionError as error:
        raise FaultyFile(f"{path}: this is nested too deep") from error
    scenario = _scenario(plain, Place(complaints=complaints))
    if complaints.errors or scenario is None:
        raise FaultyFile("\n".join(complaints.errors))
    return scenario


# --- top level ---------------------------------------------------------------


def _scenario(plain: Mapping[str, object], top: Place) -> Scenario | None:
    known = Known(fleet=_fleet(plain, top))
    row = read_row(plain, TOP, top, known)
    known.vm = _vm(plain, known)
    patience = None if row is None else row.get(PATIENCE)
    forms = steps.forms(_PATIENCE if patience is None else patience)
    taken = _steps(plain.get("steps", ()), forms, top.below("steps"), known)
    always = _throughout(plain.get("throughout", {}), taken, top, known)
    if row is None or known.fleet is None or always is None:
        return None
    return Scenario(
        name=top.complaints.file.stem,
        title=row.must(TITLE),
        description=row.get(DESCRIPTION) or "",
        fleet=known.fleet,
        vm=known.vm,
        steps=taken,
        throughout=always,
    )


def _fleet(plain: Mapping[str, object], top: Place) -> Fleet | None:
    """Read the fleet; None if it is invalid."""
    source = plain.get("fleet")
    try:
        if source is None or isinstance(source, dict):
            fleet = fleet_of(source)
        elif isinstance(source, str) and source.strip():
            fleet = fleet_of(top.folder / source)
        else:
            expected = "a path, or a table as in a fleet file"
            raise InvalidInput(f"fleet: {wrong(expected, source)}")
        if not fleet.vms:
            raise InvalidInput("the fleet has no VMs")
    except InvalidInput as error:
        top.below("fleet").refuse(str(error))
        return None
    return fleet


def _vm(plain: Mapping[str, object], known: Known) -> str:
    """Return the program's VM; empty if it is invalid, which is reported elsewhere."""
    if "vm" not in plain:
        return "" if known.fleet is None else next(iter(known.fleet.vms))
    try:
        return VM.kind.read(plain["vm"], known)
    except InvalidInput:
        return ""


def _steps(
    tables: object, forms: steps.Forms, place: Place, known: Known
) -> tuple[Step, ...]:
    if not isinstance(tables, list) or not tables:
        if tables != ():
            place.refuse(f"steps: {wrong('tables called [[steps]]', tables)}")
        return ()
    parsed = [
        steps.read_step(table, number, forms, place.below(number - 1), known)
        for number, table in enumerate(tables, 1)
    ]
    return tuple(step for step in parsed if step is not None)


def _throughout(
    table: object, taken: Sequence[Step], top: Place, known: Known
) -> Throughout | None:
    place = top.below("throughout", "[throughout]")
    row = read_row(table, demands.THROUGHOUT, place, known)
    if row is None:
        return None
    ends = any(isinstance(e, Expect) and e.demand is Demand.ENDED for e in taken)
    try:
        return demands.throughout(row, ends=ends)
    except InvalidInput as error:
        place.key("keeps_running").refuse(str(error))
        return None
