"""Steps of a scenario file: the form of each, and its parser."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from forewarn.agent.complaints import Place, nearest
from forewarn.agent.values import written, wrong
from forewarn.errors import InvalidInput
from forewarn.testing import demands, verbs
from forewarn.testing.announcement import AS
from forewarn.testing.keys import Form, Row, read_row
from forewarn.testing.known import Known, Told
from forewarn.testing.scenario import Step

#: Step forms by verb; forms that share a verb differ in its value.
Forms: TypeAlias = Mapping[str, Sequence[Form]]


def forms(patience: float) -> Forms:
    """Return all step forms; expectations wait `patience` real seconds by default."""
    by_verb: dict[str, list[Form]] = {}
    for form in (*verbs.VERBS, *demands.FAULTS, *demands.expectations(patience)):
        by_verb.setdefault(form.verb.name, []).append(form)
    return by_verb


def read_step(
    table: object, number: int, forms: Forms, place: Place, known: Known
) -> Step | None:
    """Parse the step `number`; None if it is invalid."""
    place = replace(place, label=f"step {number}")
    if not isinstance(table, dict):
        place.refuse(str(wrong("a table", table)))
        return None
    form = _form(table, forms, place)
    row = None if form is None else read_row(table, form.all_keys, place, known)
    step = None
    try:
        if form is not None and row is not None:
            _check_choice(table, form)
            step = form.make(row, known)
    except InvalidInput as error:
        place.refuse(str(error))
        row = None
    _take_name(table, number, form, row, place, known)
    return step


def _form(table: Mapping[str, object], forms: Forms, place: Place) -> Form | None:
    verbs_used = [name for name in table if name in forms]
    if len(verbs_used) != 1:
        place.refuse(_no_verb(table, verbs_used, forms))
        return None
    (verb,) = verbs_used
    value, choices = table[verb], forms[verb]
    if len(choices) == 1:
        return choices[0]
    words = [word for form in choices for word in form.verb.kind.words]
    for form in choices:
        if value in form.verb.kind.words:
            return form
    near = nearest(value, words) if isinstance(value, str) else None
    instead = f'; did you mean "{near}"?' if near else ""
    listed = ", ".join(f'"{text}"' for text in words)
    message = f"expected one of {listed}, not {written(value)}{instead}"
    place.key(verb).refuse(message)
    return None


def _no_verb(table: Mapping[str, object], given: Sequence[str], forms: Forms) -> str:
    if given:
        return f"it has {len(given)} verbs, {', '.join(given)}; make each a step"
    for name in table:
        near = nearest(name, forms)
        if near is not None:
            return f'unknown key "{name}"; did you mean "{near}"?'
    return f"it has no verb, so nothing happens; known are {', '.join(forms)}"


def _check_choice(table: Mapping[str, object], form: Form) -> None:
    names = [key.name for key in form.one_of]
    used = [name for name in names if name in table]
    if names and len(used) != 1:
        listed = f"{', '.join(names[:-1])} and {names[-1]}"
        raise InvalidInput(f"{form.verb.name} needs exactly one of {listed}")


def _take_name(
    table: Mapping[str, object],
    number: int,
    form: Form | None,
    row: Row | None,
    place: Place,
    known: Known,
) -> None:
    """Register the name of an announcement for later steps, even if it is faulty."""
    name = table.get(AS.name)
    if not isinstance(name, str):
        return
    if name in known.called:
        first = known.called[name].step
        place.key("as").refuse(f'step {first} has given the name "{name}" already')
        return
    touches = None if form is None else form.touches
    vms = None if row is None or touches is None else touches(row, known)
    known.called[name] = Told(step=number, vms=vms)
