"""Gets ready, and approves what names its VM, once: nothing of it hurts."""

import time

from tests.testing.bad_clients.asking import Entry, approve, watch

APPROVED: set[str] = set()


def act(events: list[Entry]) -> None:
    for event in events:
        is_new = (
            event["EventId"] not in APPROVED and event["EventStatus"] == "Scheduled"
        )
        if is_new and event["Resources"] == ["vm-0"]:
            time.sleep(0.1)  # to get ready
            APPROVED.add(event["EventId"])
            approve(event["EventId"])


watch(act)
