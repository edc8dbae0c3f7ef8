"""A client that cannot parse an empty NotBefore."""

from datetime import datetime

from tests.testing.bad_clients.requests import Entry, watch


def act(events: list[Entry]) -> None:
    for event in events:
        datetime.strptime(event["NotBefore"], "%a, %d %b %Y %H:%M:%S GMT")  # noqa: DTZ007


watch(act)
