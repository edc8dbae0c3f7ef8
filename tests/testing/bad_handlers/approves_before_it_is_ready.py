"""A handler that approves immediately and prepares afterwards."""

import os
import urllib.request

from tests.testing.bad_handlers.requests import approve, documents, is_open

for found in documents():
    for event in found["Events"]:
        if is_open(event):
            approve(event)
            mark = os.environ["FOREWARN_MARK_URL"]
            urllib.request.urlopen(mark, data=b"drained", timeout=5).close()
