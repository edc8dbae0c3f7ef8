"""A handler that parses NotBefore, which is empty once an event has started."""

from email.utils import parsedate_to_datetime

from tests.testing.bad_handlers.requests import approve, documents, is_open

NOW = parsedate_to_datetime("Mon, 01 Jan 2024 00:00:00 GMT")

for found in documents():
    for event in found["Events"]:
        left = parsedate_to_datetime(event["NotBefore"]) - NOW
        if is_open(event) and left:
            approve(event)
