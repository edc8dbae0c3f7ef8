"""A rehearsal as lines of JSON that are the same whenever it goes the same way.

Times are seconds of the service's clock since the rehearsal began; of real time there
is nothing in it. When the program asked is real time, too: so who has seen what, and
positions in the journal, which count that, are left out.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import Enum

from forewarn.core.facts import Entry, Seen
from forewarn.testing.verdicts import Result


def transcript(
    name: str,
    seed: int | None,
    results: Sequence[Result],
    entries: Sequence[Entry],
    began: datetime,
) -> Iterator[str]:
    """Write what was played, what came of it, and every fact but what was seen."""
    yield _line({"scenario": name, "seed": seed})
    for each in results:
        yield _line(
            {"step": each.number, "what": each.what, "verdict": each.verdict.value}
        )
    for fact in (each.fact for each in entries if not isinstance(each.fact, Seen)):
        told = _plain(fact, began)
        own = told if isinstance(told, dict) else {}
        yield _line({"fact": type(fact).__name__, **own})


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
