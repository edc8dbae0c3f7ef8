"""Knows events by what they look like, not by their ids."""

from tests.testing.bad_handlers.asking import approve, documents, is_open

approved = set()
for found in documents():
    for event in found["Events"]:
        looks = (event["EventType"], *event["Resources"])
        if is_open(event) and looks not in approved:
            approve(event)
            approved.add(looks)
