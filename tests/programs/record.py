"""Journal entries about an event, and the body that approves events."""

import json
from collections.abc import Iterable
from typing import Any


def start_requests(*events: str) -> str:
    """Return the body that approves `events`."""
    return json.dumps({"StartRequests": [{"EventId": event} for event in events]})


def approval(facts: Iterable[Any], event: str) -> tuple[str, str] | None:
    """Return who approved `event` and through which interface; None if nobody did."""
    approvals = [(fact["by"], fact["via"]) for fact in facts if _approves(fact, event)]
    assert len(approvals) <= 1, "an event is approved once"
    return approvals[0] if approvals else None


def _approves(fact: Any, event: str) -> bool:
    return bool(fact["fact"] == "Approved" and fact["event"] == event)


def vms_that_saw(facts: Iterable[Any], event: str) -> list[str]:
    """Return the VMs that have seen `event`, in order."""
    return [
        sight["vm"]
        for fact in facts
        if fact["fact"] == "Seen"
        for sight in fact["sights"]
        if sight["event"] == event
    ]
