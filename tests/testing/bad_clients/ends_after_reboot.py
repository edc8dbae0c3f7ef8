"""A client that exits when its VM is to be rebooted."""

import sys

from tests.testing.bad_clients.requests import Entry, watch


def act(events: list[Entry]) -> None:
    if any((e["EventType"], *e["Resources"]) == ("Reboot", "vm-0") for e in events):
        sys.exit()


watch(act)
