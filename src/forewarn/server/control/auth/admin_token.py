"""Admin token: given, or created in the state directory."""

import logging
import os
import secrets
from contextlib import suppress
from pathlib import Path

from forewarn.errors import CannotStart

_log = logging.getLogger(__name__)

_SHORT = 20  # characters; shorter tokens can be guessed


def admin_token(directory: Path, given: str | None) -> str:
    """Return `given`, or the token in `directory`, which is created if missing."""
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
    """Log a warning if `token` is short enough to be guessed over the network."""
    if len(token) < _SHORT:
        _log.warning(
            "the token has fewer than %d characters, and others can connect: it can be"
            " guessed",
            _SHORT,
        )


def _make_token(path: Path) -> None:
    """Write a new token atomically, and never over an existing one."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    draft = path.with_name(f"token-{os.getpid()}")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "w") as file:
            file.write(f"{secrets.token_urlsafe(32)}\n")
        with suppress(FileExistsError):
            path.hardlink_to(draft)
    finally:
        draft.unlink(missing_ok=True)
