"""Shared query: one running call for all scrapes, with a time limit."""

from threading import Event

import pytest
from tests.patience import PATIENCE

from forewarn.errors import Unavailable
from forewarn.server.metrics.sources import SharedQuery


def test_result_is_returned() -> None:
    assert SharedQuery(lambda: 7).run(PATIENCE) == 7


def test_finished_query_is_run_again() -> None:
    answers = iter((1, 2))
    asking = SharedQuery(lambda: next(answers))
    assert [asking.run(PATIENCE), asking.run(PATIENCE)] == [1, 2]


def test_hanging_query_is_run_once() -> None:
    calls: list[None] = []
    goes_on = Event()

    def hang() -> int:
        calls.append(None)
        goes_on.wait(PATIENCE)
        return 7

    asking = SharedQuery(hang)
    assert [asking.run(0.01), asking.run(0.01)] == [None, None]
    goes_on.set()
    assert asking.run(PATIENCE) == 7
    assert len(calls) == 1


def test_unavailable_result_is_none() -> None:
    def refuse() -> int:
        raise Unavailable("it is away")

    assert SharedQuery(refuse).run(PATIENCE) is None


def test_programming_error_is_raised() -> None:
    nothing: dict[str, int] = {}
    asking = SharedQuery(lambda: nothing["x"])
    with pytest.raises(KeyError):
        asking.run(PATIENCE)
