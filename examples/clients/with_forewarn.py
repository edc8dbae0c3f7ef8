#!/usr/bin/env python3
"""Handle scheduled events with forewarn's client, which polls and retries by itself."""

import argparse
import math

from forewarn import Client
from forewarn.errors import Refused

PARSER = argparse.ArgumentParser(description="Prepare for and approve events.")
PARSER.add_argument(
    "--approve-all",
    action="store_true",
    help="approve every scheduled event, even one for another VM",
)
APPROVE_ALL = PARSER.parse_args().approve_all


def get_ready(event):
    """Prepare for the event. Put your work here: drain connections, save data."""


def may_be_approved(event):
    """Approve user-initiated events, and a Freeze of less than 10 seconds."""
    is_short = event.type == "Freeze" and event.duration in range(10)
    return event.source == "User" or is_short


def act(client, event, me):
    """Prepare for an event for this VM; approve the event if this VM is named first."""
    named = [name.lower() for name in event.resources]
    if event.status != "Scheduled":
        return
    if me in named:
        get_ready(event)
    if APPROVE_ALL or (named[:1] == [me] and may_be_approved(event)):
        try:
            client.approve(event)
            print(event.id, "approved", flush=True)
        except Refused as refusal:
            print(event.id, f"not approved: {refusal}", flush=True)


def main():
    """Poll the document forever."""
    client = Client(patience=math.inf)  # uses $FOREWARN_ENDPOINT or 169.254.169.254
    me = client.instance().name.lower()
    for change in client.watch():
        for event in (*change.completed, *change.canceled):
            print(event.id, "gone", flush=True)
        for event in change.events:
            if event in change.appeared or event in change.started:
                print(event.id, event.type, event.status, flush=True)
                act(client, event, me)


main()
