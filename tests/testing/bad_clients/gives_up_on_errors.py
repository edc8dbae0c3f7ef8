"""Outlives no error."""

from tests.testing.bad_clients.asking import watch

watch(outlives=())
