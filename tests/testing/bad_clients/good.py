"""A good client: it prepares, then approves each event of its own VM once."""

import time

from tests.testing.bad_clients.requests import Entry, approve, watch

APPROVED: set[str] = set()


def act(events: list[Entry]) -> None:
    for event in events:
        is_mine = event["Resources"] == ["vm-0"]
        if is_mine and event["EventId"] not in APPROVED:
            time.sleep(0.1)  # preparation
            APPROVED.add(event["EventId"])
            approve(event["EventId"])


watch(act)
