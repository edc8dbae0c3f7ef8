"""A client that knows five event types and crashes on any other."""

from tests.testing.bad_clients.requests import Entry, watch

WORK = dict.fromkeys(("Freeze", "Reboot", "Redeploy", "Preempt", "Terminate"), 0)


def act(events: list[Entry]) -> None:
    for event in events:
        WORK[event["EventType"]] += 1


watch(act)
