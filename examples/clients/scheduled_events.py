#!/usr/bin/env python3
"""Read scheduled events, prepare for them, approve them, and poll again."""

import argparse
import http.client
import json
import os
import sys
import time
from urllib.error import HTTPError
from urllib.request import ProxyHandler, Request, build_opener

ENDPOINT = os.environ.get("FOREWARN_ENDPOINT") or "http://169.254.169.254"
EVENTS = f"{ENDPOINT}/metadata/scheduledevents?api-version=2020-07-01"
INSTANCE = f"{ENDPOINT}/metadata/instance?api-version=2021-02-01"
PAUSE = float(os.environ.get("POLL_SECONDS") or 1)
FIRST = 130  # seconds; the first response can take two minutes

PARSER = argparse.ArgumentParser(description="Prepare for and approve events.")
PARSER.add_argument(
    "--approve-all",
    action="store_true",
    help="approve every scheduled event, even one for another VM",
)
APPROVE_ALL = PARSER.parse_args().approve_all

OPENER = build_opener(ProxyHandler({}))  # no proxy, which would hide this VM


def get_ready(event):
    """Prepare for the event. Put your work here: drain connections, save data."""


def may_be_approved(event):
    """Approve user-initiated events, and a Freeze of less than 10 seconds."""
    is_short = event.get("DurationInSeconds") in range(10)
    is_short_freeze = event.get("EventType") == "Freeze" and is_short
    return event.get("EventSource") == "User" or is_short_freeze


def request(url, body=None, tag=None, timeout=10):
    """Send a request until it succeeds; return the JSON, or None, and the ETag.

    Errors such as 400 are raised, because a retry cannot help.
    """
    headers = {"Metadata": "true", "Content-Type": "application/json"}
    if tag:
        headers["If-None-Match"] = tag
    while True:
        try:
            with OPENER.open(Request(url, body, headers), timeout=timeout) as response:
                text = response.read()
                found = json.loads(text) if text and body is None else None
                return found, response.headers["ETag"] if found else tag
        except HTTPError as error:
            error.close()
            if error.code == 304:
                return None, tag
            if error.code not in {404, 410, 429} and error.code < 500:
                raise
            print(f"{url} returned {error.code}", file=sys.stderr, flush=True)
        except (OSError, http.client.HTTPException, ValueError) as error:
            print(f"{url}: {error}", file=sys.stderr, flush=True)
        time.sleep(PAUSE)


def approve(event_id):
    """Approve the event, so that it can start."""
    body = json.dumps({"StartRequests": [{"EventId": event_id}]}).encode()
    try:
        request(EVENTS, body)
        print(event_id, "approved", flush=True)
    except HTTPError as error:
        print(event_id, f"not approved: {error.code}", flush=True)


def act(event, me):
    """Prepare for an event for this VM; approve the event if this VM is named first."""
    named = [name.lower() for name in event.get("Resources") or []]
    if event.get("EventStatus") != "Scheduled":
        return
    if me in named:
        get_ready(event)
    if APPROVE_ALL or (named[:1] == [me] and may_be_approved(event)):
        approve(event["EventId"])


def my_name():
    """Return this VM's name; retry if the body is empty."""
    while True:
        instance, _ = request(INSTANCE, timeout=FIRST)
        if instance:
            return instance["compute"]["name"].lower()
        time.sleep(PAUSE)


def main():
    """Poll the document forever."""
    me = my_name()
    tag, seen, timeout = None, {}, FIRST
    while True:
        document, tag = request(EVENTS, tag=tag, timeout=timeout)
        timeout = 10
        if document:  # None if nothing has changed or the body was empty
            events = document.get("Events") or []
            now = {event["EventId"]: event.get("EventStatus") for event in events}
            for event_id in seen.keys() - now.keys():
                print(event_id, "gone", flush=True)
            for event in events:
                if seen.get(event["EventId"]) != event.get("EventStatus"):
                    words = (event.get("EventType"), event.get("EventStatus"))
                    print(event["EventId"], *words, flush=True)
                    act(event, me)
            seen = now
        time.sleep(PAUSE)


main()
