"""A handler that exits when the service does not respond."""

import time

from tests.testing.bad_handlers.requests import approve, document, is_open

while True:
    for event in document()["Events"]:
        if is_open(event):
            approve(event)
    time.sleep(0.1)
