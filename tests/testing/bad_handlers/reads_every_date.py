"""Reads NotBefore, which is empty once an event has started."""

from email.utils import parsedate_to_datetime

from tests.testing.bad_handlers.asking import approve, documents, is_open

for found in documents():
    for event in found["Events"]:
        not_before = parsedate_to_datetime(event["NotBefore"])
        if is_open(event) and not_before:
            approve(event)
