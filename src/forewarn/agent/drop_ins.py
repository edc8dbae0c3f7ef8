"""Drop-in scripts: a folder of scripts named on<Type>.sh, each of them a rule.

`onReboot.sh` prepares for a reboot, which is approved if it succeeds.
`onReboot.recover.sh` and the like handle the other steps. Types without a preparing
script are not approved.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from forewarn.agent.complaints import Place, nearest
from forewarn.agent.plan import Approve, Hook, Rule, Step, Together
from forewarn.protocol.types import EventType

_SCRIPT = re.compile(r"on([a-z]+)(?:\.([a-z-]+))?\.sh", re.IGNORECASE)

_TYPES: Mapping[str, EventType] = {each.lower(): each for each in EventType}
_STEPS: Mapping[str, Step] = {"": Step.PREPARE, **{str(each): each for each in Step}}


@dataclass(frozen=True, slots=True, kw_only=True)
class Scripts:
    """The hooks and rules that a folder of scripts adds to a plan."""

    hooks: Mapping[str, Hook] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()


def find(folder: Path, place: Place) -> Scripts:
    """Read a folder; report its errors and warnings at `place`."""
    try:
        names = sorted(os.listdir(folder))
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        place.refuse(f"{folder} cannot be read: {why}")
        return Scripts()
    by_step: dict[tuple[EventType, Step], str] = {}
    for name in names:
        meaning = _meaning(name)
        if meaning is None:
            if not name.startswith("."):
                place.warn(f"{name} in {folder} is ignored{_meant(name)}")
        elif meaning in by_step:
            place.refuse(f"{by_step[meaning]} and {name} in {folder} mean the same")
        else:
            by_step[meaning] = name
            _check(folder / name, place)
    hooks = {
        name: Hook(name=name, command=(str(folder.absolute() / name),))
        for name in by_step.values()
    }
    return Scripts(hooks=hooks, rules=tuple(_rules(by_step)))


def _rules(by_step: Mapping[tuple[EventType, Step], str]) -> Iterator[Rule]:
    for event_type in EventType:
        hooks = {
            step: (by_step[event_type, step],)
            for step in Step
            if (event_type, step) in by_step
        }
        if hooks:
            prepares = Step.PREPARE in hooks
            yield Rule(
                name=f"on{event_type}.sh",
                types=frozenset({event_type.value}),
                hooks=hooks,
                approve=Approve.AFTER_HOOKS if prepares else Approve.NEVER,
                together=Together.LEADER,
            )


def _meaning(name: str) -> tuple[EventType, Step] | None:
    """Return the event type and step of a script; None if its name does not fit."""
    parts = _SCRIPT.fullmatch(name)
    if parts is None:
        return None
    event_type = _TYPES.get(parts[1].lower())
    step = _STEPS.get((parts[2] or "").lower())
    return None if event_type is None or step is None else (event_type, step)


def _meant(name: str) -> str:
    ends = ("", *(f".{step}" for step in Step))
    near = nearest(
        name, [f"on{event_type}{end}.sh" for event_type in EventType for end in ends]
    )
    if near is None:
        return "; scripts are called on<Type>.sh or on<Type>.<step>.sh"
    return f'; did you mean "{near}"?'


def _check(path: Path, place: Place) -> None:
    if not path.is_file():
        place.refuse(f"{path} is not a file")
    elif not os.access(path, os.X_OK):
        place.refuse(f"{path} is not executable; `chmod +x` makes it so")
