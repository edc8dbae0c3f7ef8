"""A client that survives no error."""

from tests.testing.bad_clients.asking import watch

watch(outlives=())
