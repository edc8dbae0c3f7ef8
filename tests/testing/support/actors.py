"""Small programs under test, each with its own way of handling events."""

import sys
from collections.abc import Sequence

_BEGIN = """
import json, os, sys, time, urllib.request
from urllib.error import URLError
PATH = "/metadata/scheduledevents?api-version=2020-07-01"
URL = os.environ["FOREWARN_ENDPOINT"] + PATH
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
def request(body=None):
    data = None if body is None else json.dumps(body).encode()
    message = urllib.request.Request(URL, data, {"Metadata": "true"})
    return OPENER.open(message, timeout=5).read()
def approve(event):
    request({"StartRequests": [{"EventId": event["EventId"]}]})
def mark(text):
    message = urllib.request.Request(os.environ["FOREWARN_MARK_URL"], text.encode())
    OPENER.open(message, timeout=5).read()
def scheduled():
    events = json.loads(request())["Events"]
    return [event for event in events if event["EventStatus"] == "Scheduled"]
def forever(act):
    while True:
        try:
            for event in scheduled():
                act(event)
        except (OSError, URLError):
            pass
        time.sleep(0.02)
"""


def an_actor(code: str) -> Sequence[str]:
    """Return the command of a program that runs `code`.

    The code may use `request`, `approve`, `mark` and `forever`.
    """
    return [sys.executable, "-S", "-E", "-c", f"{_BEGIN}\n{code}"]


#: Approves every event.
EAGER = an_actor("forever(approve)")

#: Polls and never approves.
IDLE = an_actor("forever(lambda event: None)")
