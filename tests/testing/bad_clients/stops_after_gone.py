"""A client that handles one maintenance and no further one."""

from threading import Event

from tests.testing.bad_clients.requests import Entry, watch

SEEN: set[str] = set()


def act(events: list[Entry]) -> None:
    SEEN.update(event["EventId"] for event in events)
    if SEEN and not events:
        Event().wait()


watch(act)
