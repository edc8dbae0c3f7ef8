"""Approvals: when one is sent, and when it is retried."""

import pytest

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


@pytest.mark.parametrize("is_ready", [True, False])
def test_a_forgotten_event_is_never_due_even_after_a_late_response(
    *, is_ready: bool
) -> None:
    approvals = ApprovalRetries()
    approvals.claim("E1", 0.0)
    approvals.set_ready("E1", is_ready=True, retry_at=0.0)
    approvals.forget("E1")
    approvals.failed("E1", Unreachable("nobody is there"), 0.0)
    approvals.set_ready("E1", is_ready=is_ready, retry_at=5.0)
    assert approvals.next_due == float("inf")
    assert not approvals.is_ready("E1")
