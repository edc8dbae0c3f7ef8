"""Optional dependencies: reports what to install if a command lacks a module."""

from collections.abc import Iterator
from contextlib import contextmanager

from forewarn.errors import CannotStart


@contextmanager
def server_extra(what: str) -> Iterator[None]:
    """Report any module that is missing in the block and that `what` requires."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise CannotStart(
            f"`forewarn {what}` requires the server extra (module {error.name} not"
            " found); to install it, run: pip install 'forewarn[server]'"
        ) from error
