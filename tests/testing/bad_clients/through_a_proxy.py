"""A client that sends requests as a proxy would."""

from functools import partial

from tests.testing.bad_clients.requests import HEADERS, ask, watch

watch(read=partial(ask, headers={**HEADERS, "X-Forwarded-For": "10.0.0.4"}))
