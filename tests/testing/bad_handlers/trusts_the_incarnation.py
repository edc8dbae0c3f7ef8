"""A handler that assumes the document incarnation only grows."""

from tests.testing.bad_handlers.requests import approve, documents, is_open

known = -1
for found in documents():
    if found["DocumentIncarnation"] <= known:
        continue
    known = found["DocumentIncarnation"]
    for event in found["Events"]:
        if is_open(event):
            approve(event)
