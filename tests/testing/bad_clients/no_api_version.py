"""A client that uses an api-version that only /metadata/instance supports."""

from functools import partial

from tests.testing.bad_clients.requests import EVENTS, ask, watch

watch(read=partial(ask, EVENTS.replace("2020-07-01", "2021-02-01")))
