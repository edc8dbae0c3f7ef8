"""What forewarn wrote down about an event, and how events are approved."""

import json
from collections.abc import Iterable
from typing import Any


def start_requests(*events: str) -> str:
    """Write the body that approves `events`."""
    return json.dumps({"StartRequests": [{"EventId": each} for each in events]})


def approval(facts: Iterable[Any], event: str) -> tuple[str, str] | None:
    """Tell who approved `event`, and by which way; None: nobody yet."""
    found = [(each["by"], each["via"]) for each in facts if _approves(each, event)]
    assert len(found) <= 1, "an event is approved once"
    return found[0] if found else None


def _approves(fact: Any, event: str) -> bool:
    return bool(fact["fact"] == "Approved" and fact["event"] == event)


def witnesses(facts: Iterable[Any], event: str) -> list[str]:
    """Tell which VMs have seen `event`, in their order."""
    return [
        sight["vm"]
        for each in facts
        if each["fact"] == "Seen"
        for sight in each["sights"]
        if sight["event"] == event
    ]
