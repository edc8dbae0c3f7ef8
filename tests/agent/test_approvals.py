"""Approvals: when one is sent, and when it is retried."""

from forewarn.agent.agent import ApprovalRetries
from forewarn.errors import Refused, Unreachable


def test_an_approval_is_sent_once_until_there_is_a_response() -> None:
    approvals = ApprovalRetries()
    assert approvals.claim("E1", 0.0)
    assert not approvals.claim("E1", 1e9)
    assert approvals.claim("E2", 0.0)


def test_an_undelivered_approval_is_retried_after_a_pause() -> None:
    approvals = ApprovalRetries()
    approvals.claim("E1", 100.0)
    approvals.failed("E1", Unreachable("nobody is there"), 100.0)
    assert not approvals.claim("E1", 100.0)
    assert 100.0 < approvals.next_due <= 101.0
    assert approvals.claim("E1", approvals.next_due)


def test_a_permanently_refused_approval_is_retried_after_minutes() -> None:
    approvals = ApprovalRetries()
    approvals.claim("E1", 100.0)
    approvals.failed("E1", Refused("no such event", status=400), 100.0)
    assert approvals.next_due == 400.0


def test_a_vm_that_is_not_ready_is_checked_again() -> None:
    approvals = ApprovalRetries()
    approvals.claim("E1", 0.0)
    assert not approvals.is_ready("E1")
    approvals.set_ready("E1", is_ready=False, retry_at=5.0)
    assert not approvals.claim("E1", 4.9)
    assert approvals.claim("E1", 5.0)
    approvals.set_ready("E1", is_ready=True, retry_at=10.0)
    assert approvals.is_ready("E1")
    assert approvals.claim("E1", 5.1)


def test_a_response_for_a_forgotten_event_is_ignored() -> None:
    approvals = ApprovalRetries()
    approvals.claim("E1", 0.0)
    approvals.forget("E1")
    approvals.failed("E1", Unreachable("nobody is there"), 0.0)
    approvals.set_ready("E1", is_ready=True, retry_at=0.0)
    assert approvals.next_due == float("inf")
    assert not approvals.is_ready("E1")


def test_a_forgotten_event_is_never_due() -> None:
    approvals = ApprovalRetries()
    approvals.claim("E1", 0.0)
    approvals.set_ready("E1", is_ready=True, retry_at=0.0)
    approvals.forget("E1")
    assert approvals.next_due == float("inf")
    assert not approvals.is_ready("E1")


def test_a_late_response_for_a_forgotten_event_makes_nothing_due() -> None:
    approvals = ApprovalRetries()
    approvals.claim("E1", 0.0)
    approvals.forget("E1")
    approvals.failed("E1", Unreachable("nobody is there"), 0.0)
    approvals.set_ready("E1", is_ready=False, retry_at=5.0)
    assert approvals.next_due == float("inf")
