"""A handler that stops polling after its approval."""

import time

from tests.testing.bad_handlers.requests import approve, documents, is_open

for found in documents():
    ours = [event for event in found["Events"] if is_open(event)]
    for event in ours:
        approve(event)
    if ours:
        time.sleep(3600)
