"""Who may use the control plane: one token, compared in constant time."""

import hmac
import logging
import os
import secrets
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from forewarn.errors import CannotStart

_log = logging.getLogger(__name__)


class Tokens:
    """Tokens and the names of their holders."""

    def __init__(self, tokens: Mapping[str, str]) -> None:
        """Know `tokens`, each with the name of its holder."""
        self._tokens = {token.encode(): name for token, name in tokens.items()}

    def name_of(self, token: str) -> str | None:
        """Find who holds `token`; None: nobody."""
        given = token.encode()
        found = None
        for known, name in self._tokens.items():
            if hmac.compare_digest(known, given):
                found = name
        return found


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
