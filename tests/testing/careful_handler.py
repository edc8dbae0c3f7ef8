"""A correct handler, which shows that a short program can pass."""

from tests.testing.bad_handlers.requests import approve, documents, is_open

approved = set()
for found in documents():
    for event in found["Events"]:
        if is_open(event) and event["EventId"] not in approved:
            approve(event)
            approved.add(event["EventId"])
