"""A client that uses an api-version without Preempt and Terminate."""

from functools import partial

from tests.testing.bad_clients.requests import EVENTS, ask, watch

watch(read=partial(ask, EVENTS.replace("2020-07-01", "2017-08-01")))
