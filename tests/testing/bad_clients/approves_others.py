"""A client that approves every event it sees, immediately and repeatedly."""

from tests.testing.bad_clients.requests import Entry, approve, watch


def act(events: list[Entry]) -> None:
    for event in events:
        approve(event["EventId"])


watch(act)
