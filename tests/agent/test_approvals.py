"""When an approval is sent, and sent again."""

from forewarn.agent.approvals import Approvals
from forewarn.errors import Refused, Unreachable


def test_an_approval_is_sent_once_until_it_is_answered() -> None:
    approvals = Approvals()
    assert approvals.take("E1", 0.0)
    assert not approvals.take("E1", 1e9)
    assert approvals.take("E2", 0.0)


def test_one_that_nobody_took_is_sent_again_after_a_while() -> None:
    approvals = Approvals()
    approvals.take("E1", 100.0)
    approvals.refused("E1", Unreachable("nobody is there"), 100.0)
    assert not approvals.take("E1", 100.0)
    assert 100.0 < approvals.next_due <= 101.0
    assert approvals.take("E1", approvals.next_due)


def test_one_that_was_refused_for_good_is_tried_after_minutes() -> None:
    approvals = Approvals()
    approvals.take("E1", 100.0)
    approvals.refused("E1", Refused("no such event", status=400), 100.0)
    assert approvals.next_due == 400.0


def test_who_is_not_ready_is_asked_again_and_who_is_is_believed() -> None:
    approvals = Approvals()
    approvals.take("E1", 0.0)
    assert not approvals.is_ready("E1")
    approvals.told("E1", is_ready=False, again_at=5.0)
    assert not approvals.take("E1", 4.9)
    assert approvals.take("E1", 5.0)
    approvals.told("E1", is_ready=True, again_at=10.0)
    assert approvals.is_ready("E1")
    assert approvals.take("E1", 5.1)


def test_an_answer_to_what_is_forgotten_makes_nothing_due() -> None:
    approvals = Approvals()
    approvals.take("E1", 0.0)
    approvals.forget("E1")
    approvals.refused("E1", Unreachable("nobody is there"), 0.0)
    approvals.told("E1", is_ready=True, again_at=0.0)
    assert approvals.next_due == float("inf")
    assert not approvals.is_ready("E1")


def test_what_is_forgotten_is_due_never() -> None:
    approvals = Approvals()
    approvals.take("E1", 0.0)
    approvals.told("E1", is_ready=True, again_at=0.0)
    approvals.forget("E1")
    assert approvals.next_due == float("inf")
    assert not approvals.is_ready("E1")


def test_an_answer_that_comes_after_the_event_was_forgotten_makes_nothing_due() -> None:
    approvals = Approvals()
    approvals.take("E1", 0.0)
    approvals.forget("E1")
    approvals.refused("E1", Unreachable("nobody is there"), 0.0)
    approvals.told("E1", is_ready=False, again_at=5.0)
    assert approvals.next_due == float("inf")
