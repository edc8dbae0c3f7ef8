"""Extras of the package: what to install if a command lacks a module."""

from collections.abc import Iterator
from contextlib import contextmanager

from forewarn.errors import CannotStart


@contextmanager
def server_extra(what: str) -> Iterator[None]:
    """Report a module that cannot be imported within the block; `what` needs it."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise CannotStart(
            f"{what} needs the server extra ({error.name} is missing):"
            " pip install 'forewarn[server]'"
        ) from error
