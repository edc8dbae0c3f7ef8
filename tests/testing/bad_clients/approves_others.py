"""Approves all that it sees, at once and again and again."""

from tests.testing.bad_clients.asking import Entry, approve, watch


def act(events: list[Entry]) -> None:
    for event in events:
        approve(event["EventId"])


watch(act)
