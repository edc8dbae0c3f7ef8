"""A client that polls once, as if something would start it again."""

from tests.testing.bad_clients.requests import ask

ask()
