"""Pagination of lists: `{"items": [...], "next": cursor or null}`."""

from collections.abc import Callable, Sequence
from typing import Annotated, TypeVar

from fastapi import Query

from forewarn.errors import InvalidInput
from forewarn.server.control.views import Json

_T = TypeVar("_T")

Limit = Annotated[int, Query(ge=1, le=1000, description="How many at the most.")]
After = Annotated[str | None, Query(description="The `next` of the page before.")]


def page(
    found: Sequence[_T],
    limit: int,
    view: Callable[[_T], Json],
    cursor: Callable[[_T], str | int],
) -> Json:
    """Return the first `limit` of `found`, which holds one more if there is more."""
    shown = found[:limit]
    more = len(found) > limit
    return {
        "items": [view(item) for item in shown],
        "next": cursor(shown[-1]) if more and shown else None,
    }


def number(after: str | None) -> int:
    """Parse a numeric cursor; None is 0."""
    if after is None:
        return 0
    if not (after.isascii() and after.isdigit() and len(after) <= 18):
        raise InvalidInput("after must be the `next` of an earlier page")
    return int(after)
