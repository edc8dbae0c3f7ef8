"""A handler that polls too rarely for a notice of 30 seconds."""

from tests.testing.bad_handlers.requests import approve, documents, is_open

for found in documents(every=60):
    for event in found["Events"]:
        if is_open(event):
            approve(event)
