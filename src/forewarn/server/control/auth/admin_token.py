"""The admin token, either given or created in the state directory."""

import logging
import os
import secrets
from contextlib import suppress
from pathlib import Path

from forewarn.errors import CannotStart

_log = logging.getLogger(__name__)

_SHORT = 20  # characters; shorter tokens can be guessed


def admin_token(directory: Path, given: str | None) -> str:
    """Return `given`, or the token stored in `directory`; create one if missing."""
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
        why = (getattr(error, "strerror", None) or "it is not a text file").lower()
        raise CannotStart(
            f"cannot use the token in {path}: {why}; choose another folder with"
            " $FOREWARN_STATE_DIR, or set $FOREWARN_TOKEN"
        ) from error
    if not token:
        raise CannotStart(f"{path} is empty; remove it to have a new token created")
    if path.stat().st_mode & 0o077:
        _log.warning("%s is readable by other users; run `chmod 600` on it", path)
    return token


def warn_of_short(token: str) -> None:
    """Log a warning if `token` is short enough to be guessed over the network."""
    if len(token) < _SHORT:
        _log.warning(
            "the admin token has fewer than %d characters and can be guessed over the"
            " network; use a longer one",
            _SHORT,
        )


def _make_token(path: Path) -> None:
    """Write a new token atomically, without replacing an existing token."""
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
