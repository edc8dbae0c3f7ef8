"""A client that stops polling once an event has started."""

from threading import Event

from tests.testing.bad_clients.requests import Entry, watch


def act(events: list[Entry]) -> None:
    if any(event["EventStatus"] == "Started" for event in events):
        Event().wait()


watch(act)
