"""Looks at the first event of a document alone."""

from tests.testing.bad_handlers.asking import approve, documents, is_open

for found in documents():
    for event in found["Events"][:1]:
        if is_open(event):
            approve(event)
