"""A client that assumes incarnations never decrease."""

import json
from urllib.request import Request

from tests.testing.bad_clients.requests import EVENTS, HEADERS, OPEN, Entry, watch

LAST = [0]


def read() -> list[Entry]:
    with OPEN(Request(EVENTS, headers=HEADERS), timeout=5) as answer:
        incarnation = json.load(answer)["DocumentIncarnation"]
    assert incarnation >= LAST[0]
    LAST[0] = incarnation
    return []


watch(read=read)
