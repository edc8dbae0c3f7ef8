"""A handler without a fault: it shows that a program of twenty lines can pass."""

from tests.testing.bad_handlers.asking import approve, documents, is_open

approved = set()
for found in documents():
    for event in found["Events"]:
        if is_open(event) and event["EventId"] not in approved:
            approve(event)
            approved.add(event["EventId"])
