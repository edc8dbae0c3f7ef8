"""A client that survives network and HTTP errors, but not an empty body."""

import json
from urllib.request import Request

from tests.testing.bad_clients.requests import EVENTS, HEADERS, OPEN, Entry, watch


def read() -> list[Entry]:
    with OPEN(Request(EVENTS, headers=HEADERS), timeout=5) as answer:
        events: list[Entry] = json.load(answer)["Events"]
    return events


watch(read=read, outlives=(OSError,))
