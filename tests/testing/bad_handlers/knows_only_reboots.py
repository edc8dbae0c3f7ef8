"""A handler that knows only the Reboot type."""

from tests.testing.bad_handlers.requests import approve, documents, is_open

for found in documents():
    for event in found["Events"]:
        if is_open(event) and event["EventType"] == "Reboot":
            approve(event)
