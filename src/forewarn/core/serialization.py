"""Serialization of dataclasses to plain JSON values and back, driven by annotations.

Supports the types that the core uses: strings, numbers, booleans, times, enums, tuples,
mappings with string keys, dataclasses and None.
"""

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum
from functools import cache
from types import NoneType, UnionType
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

#: Metadata key for the name under which earlier versions stored a field.
FORMERLY = "formerly"

_T = TypeVar("_T")
_Read = Callable[[Any], Any]  # Any: plain JSON has no narrower type


#: Types with their own serialized form and the functions that return this form.
Forms = Mapping[type, Callable[..., object]]

_FORMS: Forms = {datetime: datetime.isoformat}


def to_plain(value: object, forms: Forms = _FORMS) -> object:
    """Convert `value` to types that the json module can serialize."""
    if type(value) in forms:
        return forms[type(value)](value)
    if isinstance(value, Enum):
        return value.value
    if value is None or isinstance(value, str | int | float):
        return value
    if isinstance(value, tuple):
        return [to_plain(item, forms) for item in value]
    if isinstance(value, Mapping):
        return {name: to_plain(item, forms) for name, item in value.items()}
    if is_dataclass(value):
        return {
            field.name: to_plain(getattr(value, field.name), forms)
            for field in fields(value)
        }
    raise TypeError(f"{type(value).__name__} cannot be serialized")


def from_plain(kind: type[_T], plain: object) -> _T:
    """Convert the output of `to_plain`, even of earlier versions, back to `kind`.

    Absent fields get their defaults.
    """
    value: _T = _reader(kind)(plain)  # type: ignore[arg-type]  # a class is hashable
    return value


@cache
def _reader(kind: object) -> _Read:
    if kind in (str, int, float, bool, NoneType):
        return lambda plain: plain
    if kind is datetime:
        return datetime.fromisoformat
    if isinstance(kind, type) and issubclass(kind, Enum):
        return kind
    if isinstance(kind, type) and is_dataclass(kind):
        return _dataclass_reader(kind)
    return _compound_reader(kind)


def _compound_reader(kind: object) -> _Read:
    origin, arguments = get_origin(kind), get_args(kind)
    if origin is tuple:
        element = _reader(arguments[0])
        return lambda plain: tuple(element(part) for part in plain)
    if origin is Mapping:
        return dict
    if origin is UnionType:
        inner = _reader(next(part for part in arguments if part is not NoneType))
        return lambda plain: None if plain is None else inner(plain)
    raise TypeError(f"{kind} cannot be serialized")


def _dataclass_reader(kind: type) -> _Read:
    hints = get_type_hints(kind)
    readers: dict[str, tuple[str, _Read]] = {}
    for field in fields(kind):
        known_as = (field.name, *field.metadata.values())
        readers |= dict.fromkeys(known_as, (field.name, _reader(hints[field.name])))

    def read(plain: Any) -> object:
        values = {}
        for key in plain:
            name, convert = readers[key]
            values[name] = convert(plain[key])
        return kind(**values)

    return read
