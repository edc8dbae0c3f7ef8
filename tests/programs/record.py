"""What a program requests, and the journal entries about it."""

import json
from collections.abc import Iterable
from typing import Any

from tests.end_to_end.program import Program


def url_of(program: Program, vm: str) -> str:
    """Return the address from which `vm` reads its events on loopback."""
    path = "metadata/scheduledevents?api-version=2020-07-01"
    return f"{program.metadata[0]}/vm/{vm}/{path}"


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
