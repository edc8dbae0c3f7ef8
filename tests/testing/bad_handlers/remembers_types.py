"""A handler that identifies events by type and resources instead of by id."""

from tests.testing.bad_handlers.requests import approve, documents, is_open

approved = set()
for found in documents():
    for event in found["Events"]:
        looks = (event["EventType"], *event["Resources"])
        if is_open(event) and looks not in approved:
            approve(event)
            approved.add(looks)
