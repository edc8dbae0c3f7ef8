"""Keys and step forms of a scenario file, and the reader of its tables."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

from forewarn.agent.complaints import Place, nearest
from forewarn.agent.values import wrong
from forewarn.errors import InvalidInput
from forewarn.testing.kinds import Kind
from forewarn.testing.known import Known
from forewarn.testing.scenario import Step

_T = TypeVar("_T")
_Value = TypeVar("_Value", covariant=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Key(Generic[_Value]):
    """One key: its kind of value and its help text."""

    name: str
    kind: Kind[_Value]
    help: str
    is_needed: bool = False


@dataclass(frozen=True, slots=True)
class Row:
    """One table of the file, parsed."""

    values: Mapping[str, object]

    def get(self, key: Key[_T]) -> _T | None:
        """Return the value of `key`; None if it is absent."""
        return cast("_T | None", self.values.get(key.name))

    def must(self, key: Key[_T]) -> _T:
        """Return the value of a required key."""
        return cast("_T", self.values[key.name])


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """One form of a step: its verb, its other keys, and the step it makes.

    `make` raises InvalidInput if the values do not fit together.
    """

    verb: Key[object]
    keys: tuple[Key[object], ...] = ()
    one_of: tuple[Key[object], ...] = ()  # exactly one of these is required as well
    touches: Callable[[Row, Known], frozenset[str] | None] | None = None
    make: Callable[[Row, Known], Step]

    @property
    def all_keys(self) -> tuple[Key[object], ...]:
        """Every key that such a step can have, the verb first."""
        return (self.verb, *self.one_of, *self.keys)


def read_row(
    table: object, keys: Sequence[Key[object]], place: Place, known: Known
) -> Row | None:
    """Read a table; report everything that is wrong with it and return None then."""
    if not isinstance(table, dict):
        place.refuse(str(wrong("a table", table)))
        return None
    by_name = {key.name: key for key in keys}
    before = len(place.complaints.errors)
    values: dict[str, object] = {}
    for name, value in table.items():
        if name not in by_name:
            place.below(name).refuse(_unknown(name, by_name))
            continue
        try:
            values[name] = by_name[name].kind.read(value, known)
        except InvalidInput as error:
            place.key(name).refuse(str(error))
    for key in keys:
        if key.is_needed and key.name not in table:
            place.refuse(f"`{key.name}` is missing: {key.help}")
    return Row(values) if len(place.complaints.errors) == before else None


def _unknown(name: str, known: Iterable[str]) -> str:
    near = nearest(name, known)
    instead = f'did you mean "{near}"?' if near else f"known are {', '.join(known)}"
    return f'unknown key "{name}"; {instead}'
