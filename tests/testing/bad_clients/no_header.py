"""A client that sends no Metadata header."""

from functools import partial

from tests.testing.bad_clients.requests import ask, watch

watch(read=partial(ask, headers={}))
