"""A handler that marks its steps: it drains, approves, and returns to service."""

import os
import urllib.request

from tests.testing.bad_handlers.requests import approve, documents, is_open


def mark(what: str) -> None:
    """Report a completed step as a mark."""
    url = os.environ["FOREWARN_MARK_URL"]
    urllib.request.urlopen(url, data=what.encode(), timeout=5).close()


drained: set[str] = set()
for found in documents():
    for event in found["Events"]:
        if is_open(event) and event["EventId"] not in drained:
            mark("drained")
            approve(event)
            drained.add(event["EventId"])
    if drained and drained.isdisjoint(each["EventId"] for each in found["Events"]):
        mark("back in service")
        drained.clear()
