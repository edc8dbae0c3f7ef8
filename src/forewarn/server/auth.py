"""The first token of the control plane, and those who guess tokens."""

import logging
import os
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from forewarn.errors import CannotStart

_log = logging.getLogger(__name__)

_ALLOWED = 20  # refusals in a row
_REFILL = 3.0  # seconds for one more
_MOST_ADDRESSES = 10_000
_SHORT = 20  # characters; fewer can be guessed


class Attempts:
    """Counts the tokens that were refused to each address, to slow down guessing.

    Whoever has a good token is never refused because others guess.
    """

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        """Go by `monotonic`."""
        self._monotonic = monotonic
        self._spent: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def add(self, address: str) -> float:
        """Count one more; answer how many seconds to wait, 0 if it is not too many."""
        now = self._monotonic()
        spent, since = self._spent.pop(address, (0.0, now))
        left = max(spent - (now - since) / _REFILL, 0.0)
        is_too_many = left + 1 > _ALLOWED
        self._spent[address] = (left if is_too_many else left + 1, now)
        while len(self._spent) > _MOST_ADDRESSES:
            self._spent.popitem(last=False)
        return (left + 1 - _ALLOWED) * _REFILL if is_too_many else 0.0


def admin_token(directory: Path, given: str | None) -> str:
    """Take the token that was given, or the one in `directory`, made if need be."""
    if given and given.strip():
        if not given.isascii():
            raise CannotStart("FOREWARN_TOKEN must be plain ASCII")
        return given.strip()
    path = directory / "token"
    try:
        if not path.exists():
            _make_token(path)
        token = path.read_text().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise CannotStart(f"the token in {path} cannot be used: {error}") from error
    if not token:
        raise CannotStart(f"{path} is empty; remove it, and a new token is made")
    if path.stat().st_mode & 0o077:
        _log.warning("others may read %s; `chmod 600` makes it yours alone", path)
    return token


def warn_of_short(token: str) -> None:
    """Say that `token`, with which all networks may try their luck, is too short."""
    if len(token) < _SHORT:
        _log.warning(
            "the token has fewer than %d characters, and others can connect: it can be"
            " guessed",
            _SHORT,
        )


def _make_token(path: Path) -> None:
    """Write a token; whole or not at all, and never over another."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f"token-{os.getpid()}")
    try:
        made = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(made, "w") as file:
            file.write(f"{secrets.token_urlsafe(32)}\n")
        with suppress(FileExistsError):
            path.hardlink_to(draft)
    finally:
        draft.unlink(missing_ok=True)
