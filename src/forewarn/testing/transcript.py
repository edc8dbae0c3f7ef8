"""Transcript of a rehearsal: JSON lines that are identical for identical runs.

Times are seconds on the service's clock since the start; there are no real times. Polls
happen in real time. Therefore entries on who has seen what are omitted, and so are
journal positions, which count those entries.
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
    """Yield the scenario, its results, and all journal entries except sightings."""
    yield _line({"scenario": name, "seed": seed})
    for item in results:
        yield _line(
            {"step": item.number, "what": item.what, "verdict": item.verdict.value}
        )
    for fact in (item.fact for item in entries if not isinstance(item.fact, Seen)):
        plain = _plain(fact, began)
        own = plain if isinstance(plain, dict) else {}
        yield _line({"fact": type(fact).__name__, **own})


def _line(plain: object) -> str:
    return json.dumps(plain, ensure_ascii=False)


def _plain(value: object, began: datetime) -> object:
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, datetime):
        return round((value - began).total_seconds(), 3)
    if isinstance(value, tuple):
        return [_plain(item, began) for item in value]
    if isinstance(value, Mapping):
        return {name: _plain(item, began) for name, item in value.items()}
    if is_dataclass(value):
        return {
            item.name: _plain(getattr(value, item.name), began)
            for item in fields(value)
        }
    return value
