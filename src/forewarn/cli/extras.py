"""Optional dependencies: report what to install if a command lacks a module."""

from collections.abc import Iterator
from contextlib import contextmanager

from forewarn.errors import CannotStart


@contextmanager
def server_extra(what: str) -> Iterator[None]:
    """Report what to install if the block fails to import a module for `what`."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise CannotStart(
            f"`forewarn {what}` requires the server extra (module {error.name} not"
            " found); to install it, run: pip install 'forewarn[server]'"
        ) from error
