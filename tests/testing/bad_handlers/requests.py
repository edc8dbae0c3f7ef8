"""Polling and approving, shared by all handlers here."""

import json
import os
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import TypedDict

EVENTS = os.environ["FOREWARN_ENDPOINT"] + (
    "/metadata/scheduledevents?api-version=2020-07-01"
)
OWN = os.environ["FOREWARN_ENDPOINT"].rpartition("/")[2]

_EVERY = 0.1  # seconds; short because this is a test


class Event(TypedDict):
    """An event as the service sends it."""

    EventId: str
    EventType: str
    EventStatus: str
    NotBefore: str
    Resources: Sequence[str]


class Document(TypedDict):
    """A document as the service sends it."""

    DocumentIncarnation: int
    Events: Sequence[Event]


def document() -> Document:
    """Read the document."""
    request = urllib.request.Request(EVENTS, headers={"Metadata": "true"})
    with urllib.request.urlopen(request, timeout=5) as answer:
        found: Document = json.load(answer)
        return found


def documents(every: float = _EVERY) -> Iterator[Document]:
    """Poll forever, skipping polls that fail."""
    while True:
        with suppress(OSError):
            yield document()
        time.sleep(every)


def approve(event: Event) -> None:
    """Approve `event`."""
    body = json.dumps({"StartRequests": [{"EventId": event["EventId"]}]}).encode()
    headers = {"Metadata": "true"}
    request = urllib.request.Request(EVENTS, data=body, headers=headers)
    urllib.request.urlopen(request, timeout=5).close()


def is_open(event: Event) -> bool:
    """Return whether `event` lists this VM and can be approved."""
    return event["EventStatus"] == "Scheduled" and OWN in event["Resources"]
