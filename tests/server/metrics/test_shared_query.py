"""Questions that may take long."""

from threading import Event

import pytest
from tests.patience import PATIENCE

from forewarn.errors import Unavailable
from forewarn.server.metrics.sources import SharedQuery


def test_an_answer_is_given() -> None:
    assert SharedQuery(lambda: 7).run(PATIENCE) == 7


def test_every_question_is_asked_anew() -> None:
    answers = iter((1, 2))
    asking = SharedQuery(lambda: next(answers))
    assert [asking.run(PATIENCE), asking.run(PATIENCE)] == [1, 2]


def test_a_question_that_hangs_is_asked_once() -> None:
    asked: list[None] = []
    goes_on = Event()

    def hang() -> int:
        asked.append(None)
        goes_on.wait(PATIENCE)
        return 7

    asking = SharedQuery(hang)
    assert [asking.run(0.01), asking.run(0.01)] == [None, None]
    goes_on.set()
    assert asking.run(PATIENCE) == 7
    assert len(asked) == 1


def test_what_is_refused_has_no_answer() -> None:
    def refuse() -> int:
        raise Unavailable("it is away")

    assert SharedQuery(refuse).run(PATIENCE) is None


def test_what_fails_by_our_own_fault_is_not_hidden() -> None:
    nothing: dict[str, int] = {}
    asking = SharedQuery(lambda: nothing["x"])
    with pytest.raises(KeyError):
        asking.run(PATIENCE)
