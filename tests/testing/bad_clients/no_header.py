"""Sends no header."""

from functools import partial

from tests.testing.bad_clients.asking import ask, watch

watch(read=partial(ask, headers={}))
