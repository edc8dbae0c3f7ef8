"""A handler that approves every event, including those of its neighbors."""

from tests.testing.bad_handlers.requests import approve, documents

for found in documents():
    for event in found["Events"]:
        approve(event)
