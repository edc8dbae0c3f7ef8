"""Programs under test: two good ones, and many with one fault each.

Run as a program, this file is the client that its argument names.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from email.utils import parsedate_to_datetime
from functools import partial
from threading import Event as Bell
from threading import Timer
from typing import TypedDict
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

ENDPOINT = os.environ.get("FOREWARN_ENDPOINT", "")
EVENTS = f"{ENDPOINT}/metadata/scheduledevents?api-version=2020-07-01"
OWN = ENDPOINT.rpartition("/")[2]
OPEN = build_opener(ProxyHandler({})).open
HEADERS = {"Metadata": "true"}
PAUSE = 0.21  # seconds: fewer than five requests a second
EMPTY = b'{"DocumentIncarnation": 0, "Events": []}'


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


# --- correct behavior --------------------------------------------------------


def read(
    url: str = EVENTS, headers: Mapping[str, str] = HEADERS, empty: bytes = EMPTY
) -> Document:
    """Read the document; an empty body stands for `empty`."""
    with OPEN(Request(url, headers=dict(headers)), timeout=5) as answer:
        document: Document = json.loads(answer.read() or empty)
    if not isinstance(document.get("Events"), list):
        raise ValueError("not a document")
    return document


def documents(
    read: Callable[[], Document] = read,
    *,
    every: float = PAUSE,
    outlives: tuple[type[Exception], ...] = (OSError, ValueError),
) -> Iterator[Document]:
    """Poll forever; skip polls that fail."""
    while True:
        try:
            document: Document | None = read()
        except outlives:
            document = None
        if document is not None:
            yield document
        time.sleep(every)


def events(*, every: float = PAUSE) -> Iterator[Event]:
    """Yield each event of each poll."""
    for document in documents(every=every):
        yield from document["Events"]


def post(body: object) -> None:
    """Send `body`, even if the service refuses it."""
    try:
        OPEN(Request(EVENTS, json.dumps(body).encode(), HEADERS), timeout=5).close()
    except HTTPError as refused:
        refused.close()


def approve(event: Event) -> None:
    """Approve `event`."""
    post({"StartRequests": [{"EventId": event["EventId"]}]})


def is_open(event: Event) -> bool:
    """Return whether `event` lists this VM and can be approved."""
    return is_scheduled(event) and OWN in event["Resources"]


def is_scheduled(event: Event) -> bool:
    """Return whether `event` can be approved."""
    return event["EventStatus"] == "Scheduled"


def mark(what: str) -> None:
    """Report a completed step as a mark."""
    OPEN(os.environ["FOREWARN_MARK_URL"], what.encode(), timeout=5).close()


# --- good clients ------------------------------------------------------------


def good() -> None:
    """Prepare, then approve each event of this VM once."""
    approved = set()
    for event in events():
        if is_open(event) and event["EventId"] not in approved:
            time.sleep(0.1)  # preparation
            approve(event)
            approved.add(event["EventId"])


def drains() -> None:
    """Mark the steps: drain, approve, and return to service."""
    drained: set[str] = set()
    for document in documents():
        for event in document["Events"]:
            if is_open(event) and event["EventId"] not in drained:
                mark("drained")
                approve(event)
                drained.add(event["EventId"])
        if drained and drained.isdisjoint(e["EventId"] for e in document["Events"]):
            mark("back in service")
            drained.clear()


def ignores_case() -> None:
    """Compare names without case, as Azure does."""
    for event in filter(is_scheduled, events()):
        if OWN.upper() in map(str.upper, event["Resources"]):
            time.sleep(0.1)  # preparation
            approve(event)


def left_of(event: Event) -> float:
    """Return the time until NotBefore by this machine's clock, in seconds."""
    now = time.time()  # noqa: TID251  # the clock that the program goes by
    return parsedate_to_datetime(event["NotBefore"]).timestamp() - now


def uses_its_own_clock() -> None:
    """Approve only events that are announced about 15 minutes ahead."""
    for event in filter(is_open, events()):
        if abs(left_of(event) - 15 * 60) < 30:
            time.sleep(0.1)  # preparation
            approve(event)


def waits_for_the_last_seconds() -> None:
    """Keep polling, and approve 30 seconds before NotBefore."""
    for event in filter(is_open, events()):
        if left_of(event) < 30:
            approve(event)


def drains_in_its_loop() -> None:
    """Take long to prepare, and do not poll in the meantime."""
    for event in filter(is_open, events()):
        time.sleep(1)
        approve(event)


def drains_in_a_thread() -> None:
    """Take long to prepare, and keep polling."""
    begun = set()
    for event in filter(is_open, events()):
        if event["EventId"] not in begun:
            begun.add(event["EventId"])
            Timer(0.7, approve, [event]).start()


# --- faulty polls ------------------------------------------------------------


def never_asks() -> None:
    """Omit /metadata from the path."""
    run_idle(partial(read, EVENTS.replace("/metadata", "")))


def no_api_version() -> None:
    """Use an api-version that only /metadata/instance supports."""
    run_idle(partial(read, EVENTS.replace("2020-07-01", "2021-02-01")))


def old_api_version() -> None:
    """Use an api-version without Preempt and Terminate."""
    run_idle(partial(read, EVENTS.replace("2020-07-01", "2017-08-01")))


def no_header() -> None:
    """Send no Metadata header."""
    run_idle(partial(read, headers={}))


def through_a_proxy() -> None:
    """Send requests as a proxy would."""
    run_idle(partial(read, headers={**HEADERS, "X-Forwarded-For": "10.0.0.4"}))


def hammers() -> None:
    """Retry immediately when refused."""

    def insist() -> Document:
        while True:
            try:
                return read()
            except HTTPError as refused:
                refused.close()

    run_idle(insist)


def run_idle(read: Callable[[], Document]) -> None:
    """Poll forever, and do nothing else."""
    for _ in documents(read):
        pass


def polls_once_a_minute() -> None:
    """Poll too rarely for a notice of 30 seconds."""
    for event in events(every=60):
        if is_open(event):
            approve(event)


# --- faulty reactions to documents and errors --------------------------------


def ends_while_quiet() -> None:
    """Poll once, as if something would start this again."""
    read()


def ends_when_refused() -> None:
    """Survive no error."""
    for document in documents(outlives=()):
        for event in filter(is_open, document["Events"]):
            approve(event)


def ends_without_a_body() -> None:
    """Survive network and HTTP errors, but not an empty body."""
    for _ in documents(partial(read, empty=b""), outlives=(OSError,)):
        pass


def ends_without_events() -> None:
    """Survive everything but a JSON object without Events."""
    for document in documents(read_anything):
        filter(is_open, document["Events"])


def read_anything() -> Document:
    """Read JSON, whatever it is."""
    with OPEN(Request(EVENTS, headers=HEADERS), timeout=5) as answer:
        document: Document = json.loads(answer.read() or EMPTY)
    return document


def ends_after_reboot() -> None:
    """Exit when this VM is to be rebooted."""
    for event in events():
        if event["EventType"] == "Reboot" and OWN in event["Resources"]:
            return


def ends_with_new_types() -> None:
    """Know five event types, and crash on any other."""
    for event in events():
        ("Freeze", "Reboot", "Redeploy", "Preempt", "Terminate").index(
            event["EventType"]
        )


def reads_every_date() -> None:
    """Parse NotBefore, which is empty once an event has started."""
    for event in events():
        parsedate_to_datetime(event["NotBefore"])
        if is_open(event):
            approve(event)


def ends_after_restart() -> None:
    """Assume that incarnations never decrease."""
    last = 0
    for document in documents():
        assert document["DocumentIncarnation"] >= last
        last = document["DocumentIncarnation"]


def trusts_the_incarnation() -> None:
    """Ignore documents whose incarnation has not grown."""
    known = -1
    for document in documents():
        if document["DocumentIncarnation"] > known:
            known = document["DocumentIncarnation"]
            for event in filter(is_open, document["Events"]):
                approve(event)


def stops_after_started() -> None:
    """Stop polling once an event has started."""
    for event in events():
        if event["EventStatus"] == "Started":
            Bell().wait()


def stops_after_gone() -> None:
    """Handle one maintenance and no further one."""
    has_seen = False
    for document in documents():
        if has_seen and not document["Events"]:
            Bell().wait()
        has_seen = has_seen or bool(document["Events"])


def stops_after_approving() -> None:
    """Stop polling after an approval."""
    for document in documents():
        own = [*filter(is_open, document["Events"])]
        for event in own:
            approve(event)
        if own:
            Bell().wait()


def waits_for_the_start() -> None:
    """Assume that every announced event will start."""
    for event in events():
        if is_open(event):
            approve(event)
            while event["EventStatus"] != "Started":
                by_id = {shown["EventId"]: shown for shown in read()["Events"]}
                event = by_id[event["EventId"]]


# --- faulty approvals --------------------------------------------------------


def sleeps_until_the_last_seconds() -> None:
    """Sleep until 30 seconds before NotBefore, and then approve."""
    for event in filter(is_open, events()):
        time.sleep(max(left_of(event) - 30, 0))
        approve(event)


def approves_in_vain() -> None:
    """Approve in an invalid format."""
    for event in events():
        post({"Approve": event["EventId"]})


def approves_everything() -> None:
    """Approve every event, including those of other VMs."""
    for event in events():
        approve(event)


def approves_unprepared() -> None:
    """Approve immediately, and prepare afterwards."""
    for event in filter(is_open, events()):
        approve(event)
        mark("drained")


def approves_the_first_event() -> None:
    """Approve the first event that can be approved, whatever its resources."""
    for document in documents():
        for event in document["Events"][:1]:
            if is_scheduled(event):
                time.sleep(0.1)  # preparation
                approve(event)


def knows_only_reboots() -> None:
    """Approve no other type."""
    for event in filter(is_open, events()):
        if event["EventType"] == "Reboot":
            approve(event)


def looks_at_the_first_event() -> None:
    """Ignore the other events of a document."""
    for document in documents():
        for event in filter(is_open, document["Events"][:1]):
            approve(event)


def remembers_types() -> None:
    """Identify events by type and resources instead of by id."""
    approved = set()
    for event in filter(is_open, events()):
        looks = (event["EventType"], *event["Resources"])
        if looks not in approved:
            approve(event)
            approved.add(looks)


def command_of(client: Callable[[], None]) -> Sequence[str]:
    """Return the command that runs `client`, which is a function of this file."""
    return [sys.executable, __file__, client.__name__]


if __name__ == "__main__":
    globals()[sys.argv[1]]()
