"""A client that retries immediately when it is refused."""

from urllib.error import HTTPError

from tests.testing.bad_clients.requests import Entry, ask, watch


def read() -> list[Entry]:
    while True:
        try:
            return ask()
        except HTTPError as refused:
            refused.close()


watch(read=read)
