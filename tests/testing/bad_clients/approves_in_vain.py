"""A client that approves in an invalid format."""

from tests.testing.bad_clients.requests import Entry, approve, watch


def act(events: list[Entry]) -> None:
    for event in events:
        approve(body=f'{{"Approve": "{event["EventId"]}"}}'.encode())


watch(act)
