"""Correct behavior shared by the bad clients: polling, approving and waiting."""

import json
import os
import time
from collections.abc import Callable, Mapping
from typing import TypedDict
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener


class Entry(TypedDict):
    """An event of the document."""

    EventId: str
    EventType: str
    EventStatus: str
    NotBefore: str
    Resources: list[str]


ENDPOINT = os.environ["FOREWARN_ENDPOINT"]
EVENTS = f"{ENDPOINT}/metadata/scheduledevents?api-version=2020-07-01"
OPEN = build_opener(ProxyHandler({})).open
HEADERS = {"Metadata": "true"}
PAUSE = 0.21  # seconds: fewer than five requests a second

BAD = (OSError, ValueError)  # no response, or one that cannot be parsed


def ask(url: str = EVENTS, headers: Mapping[str, str] = HEADERS) -> list[Entry]:
    """Read the events of the document; an empty body has none."""
    with OPEN(Request(url, headers=dict(headers)), timeout=5) as answer:
        text = answer.read()
    events: list[Entry] = json.loads(text)["Events"] if text else []
    return events


def approve(*events: str, body: bytes | None = None) -> None:
    """Approve `events`."""
    wanted = {"StartRequests": [{"EventId": each} for each in events]}
    data = body or json.dumps(wanted).encode()
    try:
        OPEN(Request(EVENTS, data, HEADERS), timeout=5).close()
    except HTTPError as refused:
        refused.close()


def watch(
    act: Callable[[list[Entry]], None] = lambda events: None,
    *,
    read: Callable[[], list[Entry]] = ask,
    outlives: tuple[type[Exception], ...] = BAD,
) -> None:
    """Poll forever and call `act` with the events of each poll."""
    while True:
        try:
            events = read()
        except outlives:
            events = []
        act(events)
        time.sleep(PAUSE)
