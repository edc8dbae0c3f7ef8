"""A client that omits /metadata from the path."""

from functools import partial

from tests.testing.bad_clients.requests import ENDPOINT, ask, watch

watch(read=partial(ask, f"{ENDPOINT}/scheduledevents?api-version=2020-07-01"))
