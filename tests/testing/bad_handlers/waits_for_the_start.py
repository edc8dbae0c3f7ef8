"""A handler that assumes every announced event will start."""

from tests.testing.bad_handlers.requests import approve, document, documents, is_open

for found in documents():
    for event in found["Events"]:
        if not is_open(event):
            continue
        approve(event)
        while event["EventStatus"] != "Started":
            by_id = {each["EventId"]: each for each in document()["Events"]}
            event = by_id[event["EventId"]]
