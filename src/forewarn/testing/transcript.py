"""A rehearsal as lines of JSON that are the same whenever it goes the same way.

Times are seconds of the service's clock since the rehearsal began; of real time there
is nothing in it.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum

from forewarn.core.facts import Entry
from forewarn.testing.verdicts import Result


def transcript(
    name: str,
    seed: int | None,
    results: Sequence[Result],
    entries: Sequence[Entry],
    began: datetime,
) -> Iterator[str]:
    """Write what was played, what came of it, and every fact."""
    yield _line({"scenario": name, "seed": seed})
    for each in results:
        yield _line(
            {"step": each.number, "what": each.what, "verdict": each.verdict.value}
        )
    for entry in entries:
        told = _plain(entry.fact, began)
        fact = type(entry.fact).__name__
        own = told if isinstance(told, dict) else {}
        yield _line({"position": entry.position, "fact": fact, **own})


def _line(plain: object) -> str:
    return json.dumps(plain, ensure_ascii=False)


def _plain(value: object, began: datetime) -> object:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return round((value - began).total_seconds(), 3)
    if isinstance(value, tuple):
        return [_plain(each, began) for each in value]
    if isinstance(value, Mapping):
        return {name: _plain(each, began) for name, each in value.items()}
    if is_dataclass(value):
        return {
            each.name: _plain(getattr(value, each.name), began)
            for each in fields(value)
        }
    return value
