"""A client that survives no error."""

from tests.testing.bad_clients.requests import watch

watch(outlives=())
