"""Asks once, as if somebody would start it again."""

from tests.testing.bad_clients.asking import ask

ask()
