"""A handler that looks only at the first event of a document."""

from tests.testing.bad_handlers.requests import approve, documents, is_open

for found in documents():
    for event in found["Events"][:1]:
        if is_open(event):
            approve(event)
